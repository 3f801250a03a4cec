"""A command tried in a process of its own: it may be stopped, write only into its folder, and use no network.

A command that works for more than `WORKING` seconds of processor time is interrupted, as a user would interrupt it:
what a file or an argument asks for may be a long run. It has to end then, as after every other input, with a status
that means something and without a traceback.
"""

from __future__ import annotations

import gc
import multiprocessing.process
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from testbed.build.confined import Confinement, confining
from testbed.words.errors import UsageError

WORKING = 4  # seconds of processor time after which a command is interrupted
_ENDING = 20.0  # seconds of processor time that it may use in all, itself and those that it started
_SILENT = 90.0  # seconds of any kind
_MEMORY = 12 << 30  # bytes of address space, most of which are what the parent has mapped
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
    what = Confinement(int(_ENDING), _MEMORY, _FILE, None, (folder, _SEMAPHORES))
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
