"""Whole commands: `main()` of every subcommand with damaged arguments, on damaged files, in a process of its own."""

import gc
import importlib
import json
import multiprocessing.process
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

from programs import PROGRAMS
from testbed.build.confined import Confinement, confining
from testbed.cli import COMMANDS, main
from testbed.export.core import core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.write import snapshot_data
from testbed.native import machine_code
from testbed.referee.process.limits import mapped_now
from testbed.runs.files import save_run
from testbed.words.errors import UsageError
from tests.hostile import real
from tests.hostile.damage import ODD_ARGUMENTS, among_parts, damaged_bytes, damaged_text, packed, parts_of
from tests.hostile.real import folder
from tests.hostile.target import Target

# A command tried in a process of its own: it may be stopped, write only into its folder, and use no network.
#
# A command that works for more than `WORKING` seconds of processor time is interrupted, as a user would interrupt it:
# what a file or an argument asks for may be a long run. It has to end then, as after every other input, with a status
# that means something and without a traceback.


WORKING = 4  # seconds of processor time after which a command is interrupted
_ENDING = 20.0  # seconds of processor time that it may use in all, itself and those that it started
_SILENT = 90.0  # seconds of any kind
_MEMORY = 8 << 30  # bytes of address space beyond what the parent has mapped: an engine maps one
_FILE = 64 << 20
_SEMAPHORES = Path("/dev/shm")
_STATUSES = (0, 1, 2, 130)
_LAST_NET = "TESTBED_TRACEBACK=1 shows where"  # of a message that names no file and no remedy


class BadEnd(Exception):
    """A command that ended in a way that no user should see. ``kind`` is the same for all that end so."""

    def __init__(self, kind: str, said: str = "") -> None:
        super().__init__(f"{kind}\n{said}")
        self.kind = kind


def end_of(main: Callable[[], None], arguments: Sequence[str], folder: Path, stdin: bytes = b"") -> int:
    """The exit status of a command. Raises UsageError where that is 2, BadEnd where it is none of the documented."""
    out, err = folder / "out.txt", folder / "err.txt"
    (folder / "in.txt").write_bytes(stdin)
    what = Confinement(int(_ENDING), mapped_now() + _MEMORY, _FILE, None, (folder, _SEMAPHORES))
    with confining(what) as confine:
        child = os.fork()
        if not child:
            _run(main, arguments, folder, confine)
    status = _waited_for(child)
    said = err.read_bytes()[-4000:].decode("utf-8", "replace")
    if status not in _STATUSES or "Traceback (most recent call last)" in said or _LAST_NET in said:
        raise BadEnd(f"status {status}: {_where(said)}", said)
    if status == 2 and not said.strip() and not out.stat().st_size:
        raise BadEnd("status 2, and no word of why", repr(out.read_bytes()[:300]))
    if status == 2:
        raise UsageError(said)
    return status


def _where(said: str) -> str:
    """One line for one kind of failure: the innermost place of ours, and the error."""
    lines = said.strip().splitlines()
    places = [line.strip() for line in lines if line.startswith('  File "') and "/testbed/" in line]
    return (
        f"{places[-1].split(chr(34))[1].rpartition('/testbed/')[2] if places else ''} {lines[-1][:60] if lines else ''}"
    )


def _run(main: Callable[[], None], arguments: Sequence[str], folder: Path, confine: Callable[[], None]) -> None:
    """The child: never returns."""
    status = 70
    try:
        os.setsid()
        multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        fresh = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for number, (name, flags) in enumerate((("in.txt", os.O_RDONLY), ("out.txt", fresh), ("err.txt", fresh))):
            os.dup2(os.open(folder / name, flags, 0o600), number)
        sys.stdin = os.fdopen(0)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", errors="backslashreplace")
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPROF, lambda number, frame: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_PROF, WORKING)
        confine()
        sys.argv = ["testbed", *arguments]
        gc.freeze()
        try:
            main()
            status = 0
        except SystemExit as done:
            status = done.code if isinstance(done.code, int) else 0 if done.code is None else 71
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stdout.flush()
            sys.stderr.flush()
    except BaseException:
        import traceback

        with suppress(BaseException):
            os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(status & 0xFF)


def _waited_for(child: int) -> int:
    """The status of a child; negative that of a signal. One that neither works nor ends is killed with its group."""
    until = time.monotonic() + _SILENT
    pause = 0.001
    try:
        while True:
            pid, status, _ = os.wait4(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > until:
                raise BadEnd(f"it did not end within {_SILENT:g} s")
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)
    finally:
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


_BETWEEN = "\x1e"  # between two arguments: a name of a file may have any other character in it

# What each is given besides its arguments: FILE is that kind of file, under a name with its suffix.
_COMMANDS = (
    ("elf", "check FILE --runs 1 --steps 50 --jobs 1 --fresh"),
    ("elf", "check FILE --format json --baseline FILE --fail-on warning --runs 1 --steps 20 --jobs 1"),
    ("elf", "check FILE -f m* --call f(buf:64,3) --runs 1 --steps 20 --jobs 1 -o a.html"),
    ("S", "check FILE --runs 1 --steps 50 --jobs 1 -- gcc -DPIC"),
    ("list", "check @FILE FILE --runs 1 --jobs 1"),
    ("json", "check prog --runs 1 --fresh --jobs 1 --steps 20 --baseline FILE"),
    ("elf", "sweep FILE --out a.db --jobs 1"),
    ("elf", "sweep report FILE --json"),
    ("elf", "run FILE -u fp_chain --budget 1000 --seed 3"),
    ("elf", "run FILE -u eh_frame --frame-record NESTED_CALL --at @3"),
    ("S", "run FILE -a x86_64 -u eh_* --budget 2000 -o a.html -o b.svg"),
    ("trace", "run --trace FILE -u fp_chain --differences"),
    ("trace", "run --trace FILE -u eh_frame --chunk 100"),
    ("elf", "run FILE --process --sample 10 --budget 1000 --stdin FILE --sysroot . -- a b"),
    ("list", "run leaf_call -a arm64 -u fp_chain --json -o t.timeline.json -o t.svg"),
    ("list", "run leaf_call -a arm64 --at main+0x4 --machine -u eh_frame"),
    ("elf", "run FILE --at @3 --machine -u fp_chain"),
    ("list", "run leaf_call -a arm32 -o x.trace --budget 1000"),
    ("elf", "run FILE -o FILE.trace --seed 3"),
    ("list", "matrix -p leaf_call -a arm64 -r keystone -u fp_chain -j 1 -o a.xml -o b.json --fresh"),
    ("list", "matrix -p leaf_call -a x86_64 -r keystone -u fp_chain -j 2 -o c.html -o d.svg"),
    ("list", "score -u fp_chain -a arm64 -j 1 -o b.md -o b.svg"),
    ("list", "run leaf_call --cross-check -a arm64 --budget 500 --json"),
    ("elf", "run FILE --cross-check --budget 500"),
    ("elf", "rows FILE -f eh_frame"),
    ("elf", "check FILE --executed --format json --budget 1000"),
    ("list", "check leaf_call --executed -a arm64 -r clang-asm -t eh_frame"),
    ("list", "fuzz --write f64c1+f -o gen.c"),
    ("list", "fuzz --seeds 1 -a arm64 -u fp_chain --first 7 --save s -j 1"),
    ("elf", "backtrace FILE --at @4 --style gdb"),
    ("list", "backtrace leaf_call -a arm64 --at leaf --style lldb -u eh_frame"),
    ("elf", "backtrace FILE --judge --budget 500"),
    ("list", "backtrace leaf_call --judge -a arm64 -r keystone"),
    ("list", "gdb leaf_call -a arm64 --serve --at @0 --port 1234"),
    ("list", "edit leaf_call -a arm64 --port 1234"),
    ("list", "export leaf_call -a arm64 --at leaf -f minidump -o x --force"),
    ("elf", "export FILE --at @2 -f core -o FILE --force"),
    ("list", "export --vectors out -p leaf_call -a arm64 -r keystone -j 1"),
    ("core", "backtrace FILE --sysroot . --file prog@0x410000 --thread 0 --skip-missing --debug-dir ."),
    ("dump", "backtrace FILE -u stack_* --skip-missing --json"),
    ("json", "backtrace FILE --skip-missing --file-limit steps=5000 --file-limit seconds=3"),
    ("list", "protocol --check --unwinder-cmd ./prog"),
    ("list", "protocol --example python new"),
    ("list", "backtrace FILE --unwinder-cmd ./FILE"),
    ("list", "list programs --json"),
    ("list", "list programs --traps"),
    ("list", "list assumptions -u eh_*"),
    ("list", "matrix --known-bugs libdw --json"),
    ("list", "list cache"),
    ("list", "--version"),
)
_SUFFIX = {"elf": "", "S": ".x86_64.S", "trace": ".trace", "list": ".txt", "json": ".json", "core": "", "dump": ".dmp"}


@cache
def _files() -> dict[str, bytes]:
    """One small real file of each kind."""
    run, snapshot = real.runs()[0], real.snapshots()[0]
    path = folder() / "seed.trace"
    save_run(run, path)
    source = PROGRAMS["leaf_call"].sources["x86_64"]
    return {
        "elf": real.built()[0].image.content,
        "S": source.text.encode(),
        "trace": path.read_bytes(),
        "list": b"prog\n# a list\n",
        "json": json.dumps(snapshot_data(snapshot)).encode(),
        "core": core_bytes(snapshot),
        "dump": minidump_bytes(snapshot),
    }


@cache
def _seeds() -> Sequence[bytes]:
    for name in COMMANDS:  # once, before processes are forked
        importlib.import_module(f"testbed.cli.{name}")
    found = []
    for kind, text in _COMMANDS:
        words = [word.replace("FILE", f"file{_SUFFIX[kind]}") for word in text.split(" ")]
        found.append(packed([_BETWEEN.join(words).encode(), _files()[kind]]))
    return found


def _damaged_arguments(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """An argument replaced by an odd one, moved, doubled, left out, or brought from another command."""
    if not dice.randrange(6):
        return damaged_text(content, dice, seeds)
    words = content.decode("utf-8", "surrogateescape").split(_BETWEEN)
    at = dice.randrange(1, len(words)) if len(words) > 1 and dice.randrange(12) else 0
    match dice.randrange(6):
        case 0 | 1 | 2:
            words[at] = dice.choice(ODD_ARGUMENTS)
        case 3:
            words.insert(at, dice.choice(ODD_ARGUMENTS))
        case 4:
            del words[at]
        case _:
            more = seeds[dice.randrange(len(seeds))].decode("utf-8", "surrogateescape").split(_BETWEEN)
            start = dice.randrange(len(more))
            words[at:at] = more[start : start + dice.randint(1, 3)]
    return _encoded(_BETWEEN.join(words))


def _encoded(text: str) -> bytes:
    """As the system has arguments: any bytes. A surrogate that stands for no byte is left as UTF-8 would have it."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _read(content: bytes) -> None:
    typed, file = parts_of(content, 2)
    words = typed.decode("utf-8", "surrogateescape").split(_BETWEEN)
    place = folder() / "commands"
    place.mkdir(exist_ok=True)
    for path in place.iterdir():
        if path.is_file():
            path.unlink()
    for suffix in _SUFFIX.values():
        if any(f"file{suffix}" in word for word in words):
            (place / f"file{suffix}").write_bytes(file)
    (place / "prog").write_bytes(_files()["elf"])
    (place / "prog").chmod(0o755)
    environment = {
        "TESTBED_CACHE": str(place / "cache"),
        machine_code.VARIABLE: str(machine_code.CODE.folder),
        "TMPDIR": str(place),
        "HOME": str(place),
    }
    with patch.dict(os.environ, environment):
        end_of(main, words, place)


TARGETS = (
    Target(
        "commands",
        "whole commands: main() of each with damaged arguments, on damaged files, in a process",
        _seeds,
        _read,
        among_parts((_damaged_arguments, damaged_bytes)),
        weight=0.02,
    ),
)
