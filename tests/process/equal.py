"""`python -m tests.process.equal FOLDER`: processes-shares.md, programs and builds.

Programs of this folder, Lua and zlib's minigzip from Debian's sources, and bash, busybox, Lua and SQLite as Debian
packages have them; built by GCC and clang (of ziglang), static and dynamic glibc and static musl, with and without
frame pointers; run in the testbed, and natively (x86_64) or by qemu-user; and judged: unwinders of rows at every
step, the others at 100 steps that the seed chooses; what takes more than 4 million steps in pieces.

Too long for the test suite, and it downloads sources and packages (nothing is installed). Those with the fewest steps
come first, each in a process of its own, which ends after `--seconds`. Every row is kept in the folder, and the page
written after it: this may be stopped, or asked for parts: the page shows all rows that are kept. `--again` runs those
that are there. Exit status 1 where something differs that no sentence names, or an unwinder has a step that nothing
explains.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun, run_process
from testbed.process.process_run import run_in_pieces
from testbed.profiling.judge import judge_in_pieces, judge_process, watch_process
from testbed.profiling.result import CountedProcess, WatchedProcess
from testbed.report.phrases import share
from testbed.sweep.debian import Apt
from testbed.words.errors import TestbedError
from tests.process.builds import PROGRAMS as SOURCES
from tests.process.builds import TARGETS as COMPILERS
from tests.process.builds import outside, told
from unwinders import UNWINDERS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "processes-shares.md"
JUDGED_BY = (
    *("fp_chain", "fp_chain_entry", "lr_leaf", "eh_frame", "debug_frame", "ehabi"),
    *("stack_scan", "stack_scan_strict"),
)
MOST_HELD, BUDGET, ASKED = 4_000_000, 20_000_000, 100
NAMED = {  # what is known to differ, and why the testbed is right
    "vforked": "qemu-user makes a fork of vfork, so that the child's writes are lost; Linux shares the memory",
}


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One program of one build: what it did in the testbed, and what differs elsewhere; "" for nothing.

    ``shares`` are, by unwinder: counted, exact, whole, stops, lies, unexplained steps; none where it did not run.
    ``opened`` are the places of the last: unwinder, function and library, steps, what is first executed there.
    """

    name: str
    target: str
    build: str
    emulated: bool
    steps: int
    threads: int
    ending: str
    differs: str
    transition: int = 0
    shares: dict[str, tuple[int, ...]] = field(default_factory=dict)
    opened: tuple[tuple[str, str, int, str], ...] = ()
    undecided: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.target} {self.build}"

    @property
    def word(self) -> str:
        if not self.differs:
            return "equal"
        return "named" if self.emulated and self.name in NAMED else "differs"

    @property
    def unexplained(self) -> int:
        return sum(numbers[-1] for numbers in self.shares.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.equal", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and packages are kept")
    parser.add_argument("--program", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--build", action="append", choices=(*BUILDS, "Debian"), help="only this one; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written")
    parser.add_argument("--again", action="store_true", help="run also what is kept")
    parser.add_argument("--open", action="store_true", help="judge again what has a step that nothing explains")
    parser.add_argument("--seconds", type=float, default=3600, help="for one program and build; then it is left out")
    given = parser.parse_args()
    kept, missing = given.folder / "rows.json", list[str]()
    rows = {str(row): row for each in json.loads(kept.read_text() if kept.exists() else "[]") if (row := _read(each))}
    chosen = list[RunnableProgram]()
    for program, why in wanted(given.folder.resolve(), given.program, given.target, given.build):
        if isinstance(program, RunnableProgram):
            chosen.append(program)
        else:
            missing.append(f"{program}: {why}")
    for program in sorted(chosen, key=lambda each: rows[str(each)].steps if str(each) in rows else 0):
        known = rows.get(str(program))
        if known is not None and not (given.again or (given.open and known.unexplained)):
            continue
        row = _in_time(program, given.seconds)
        if row is None:
            print(f"{program}: no row in {given.seconds:g} seconds", file=sys.stderr, flush=True)
            continue
        rows[str(row)] = row
        kept.write_text(json.dumps([asdict(each) for each in rows.values()], indent=0))
        print(f"{row}: {row.steps:,} steps, {row.word}, {row.unexplained} unexplained", file=sys.stderr, flush=True)
        _write(rows.values(), missing, given.page)
    _write(rows.values(), missing, given.page)
    return int(any(row.word == "differs" or row.unexplained for row in rows.values()))


def _read(row: dict[str, object]) -> ProgramRow:
    return ProgramRow(**row)  # type: ignore[arg-type]  # as `asdict` had it


def _write(rows: Iterable[ProgramRow], missing: Sequence[str], page: Path) -> None:
    builds = ("Debian", *BUILDS)
    ordered = sorted(rows, key=lambda row: (builds.index(row.build), TARGETS.index(row.target)))
    page.write_text("\n".join(_page(ordered, missing)) + "\n", encoding="utf-8")


def _in_time(program: RunnableProgram, seconds: float) -> ProgramRow | None:
    """The row, made by a process that ends then; None where it is not there in time."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    making = context.Process(target=lambda: there.send(_row(program)))
    making.start()
    there.close()
    try:
        row: ProgramRow | None = here.recv() if here.poll(seconds) else None
    except EOFError:  # it has said why
        row = None
    finally:
        making.kill()
        making.join()
    return row


def _row(program: RunnableProgram) -> ProgramRow:
    what = (program.name, program.target, program.build, program.emulated)
    try:
        run = run_process(program.path, program.arguments, budget=MOST_HELD, **here(program))
    except TestbedError as error:
        return ProgramRow(*what, 0, 0, str(error), str(error))
    asked = _applicable(run)
    process: WatchedProcess | CountedProcess
    if run.status is None and run.steps == MOST_HELD:
        del run
        long = run_in_pieces(program.path, program.arguments, budget=BUDGET, **here(program))
        process, shares = judge_in_pieces(long, asked, sample=ASKED)
    else:
        process = watched = watch_process(run)
        shares = [judge_process(watched, each, sample=ASKED) for each in asked]
    return ProgramRow(
        *what,
        *(process.steps, len(process.threads), process.run.ending, _differs(program, process.run)),
        sum(thread.transition for thread in process.threads),
        {each.name: (each.judged, each.exact, each.whole, each.stops, each.lying, each.unexplained) for each in shares},
        tuple(
            (each.name, str(place), place.steps, place.where)
            for each in shares
            for place in each.places
            if not place.explained
        ),
        sum(thread.undecided for thread in process.threads),
    )


def _differs(program: RunnableProgram, run: ProcessRun) -> str:
    (stdout, status), (own_stdout, own) = there(program), told(run)
    if own != status:
        return f"status {own}, {status} there ({run.ending})"
    return "" if own_stdout == stdout else "its output"


def _applicable(run: ProcessRun) -> list[Unwinder]:
    images = [loaded.image for loaded in run.images]
    return [UNWINDERS[name] for name in JUDGED_BY if any(map(UNWINDERS[name].applies_to, images))]


_INTRODUCTION = """# Real programs and builds, every unwinder

Made by `python -m tests.process.equal FOLDER`. Each program is run in the testbed, and natively (x86_64)
or by qemu-user (arm64, A32, Thumb). *Equal*: the same standard output and exit status. GCC is Debian's 12,
clang is that of ziglang, which also makes musl; *fp*: with frame pointers; all with -O2. *Debian*: as its
packages have it. ziglang brings no static glibc, so clang's programs with glibc are dynamic.

Each is judged, too. A cell has the shares of steps, in percent: *exact / honest / lies*, where honest are
stops and whole stacks of which it was not said that the last caller is the root; steps at which no answer is right
(*transition*) are not counted. Unwinders of rows are judged at every step (but `prologue_analysis`, which begins at
functions' symbols: most of these files have few), the scans and `lr_leaf` at 100 steps that the seed
chooses. What takes more than 4 million steps is judged in pieces. *-*: no file has what the unwinder needs.
*Open*: steps, of all unwinders, that nothing explains.
"""


def _page(rows: Sequence[ProgramRow], missing: Sequence[str]) -> Iterator[str]:
    yield _INTRODUCTION
    yield from head_of(rows)
    if missing:
        yield "Not run:\n"
        yield from (f"- {each}" for each in missing)
        yield ""
    names = [name for name in JUDGED_BY if any(name in row.shares for row in rows)]
    head = ("program", "target", "build", "steps", "transition", "threads", "ended by", "output")
    yield f"| {' | '.join((*head, *names, 'open'))} |"
    yield f"|---|---|---|---:|---:|---:|---|---|{'---|' * len(names)}---:|"
    for row in rows:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.transition:,} | {row.threads}"
        said = f"**differs**: {row.differs}" if row.word == "differs" else row.word
        cells = " | ".join(_cell(row.shares.get(name)) for name in names)
        yield f"| {what} | {row.ending} | {said} | {cells} | {row.unexplained:,} |"


def head_of(rows: Sequence[ProgramRow]) -> Iterator[str]:
    """What stands in front of the table: how many there are, what differs, what nothing explains."""
    words = Counter(row.word for row in rows)
    steps, undecided = sum(row.steps for row in rows), sum(row.undecided for row in rows)
    yield f"{words['equal']} of {len(rows)} are equal, {words['named']} differ as is named below."
    yield f"{sum(row.unexplained for row in rows):,} of {steps:,} steps are open."
    yield f"The truth leaves {undecided:,} undecided, {100 * undecided / max(1, steps):.4f} %.\n"
    for name, why in NAMED.items():
        if any(row.word == "named" and row.name == name for row in rows):
            yield f"*Named*, {name}: {why}.\n"
    places: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        for unwinder, place, many, _ in row.opened:
            places[unwinder, place][str(row)] += many
    if places:
        yield "Nothing explains what is said at frames of:\n"
        for (unwinder, place), found in sorted(places.items(), key=lambda each: -each[1].total()):
            yield f"- {place}, by `{unwinder}`: {found.total():,} steps in {len(found)} builds, as {min(found)}"
        yield ""


def _cell(numbers: Sequence[int] | None) -> str:
    if numbers is None:
        return "-"
    counted, exact, whole, stops, lies, _ = numbers
    return " / ".join(share(n, counted).removesuffix(" %") for n in (exact, whole + stops, lies))


# Programs and how they are built for `tests.process.equal`: sources, compilers, packages of other architectures.


SCRIPT = """x=0; for i in 1 2 3 4 5 6 7 8 9 10; do x=$((x+i)); done; echo $x
f() { echo "f $1"; }; f a; case abc in a*) echo yes;; esac
"""
LUA = """
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {} for i = 1, 200 do t[#t+1] = tostring(i*7 % 101) end table.sort(t)
local ok = pcall(function() error("x") end)
local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end end)
print(fib(12), table.concat(t, ","):len(), ok, co(), co(), string.format("%.3f", math.sin(1)))
"""
SQL = """create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x+1 from c where x < 300)
insert into t select x, 'v'||(x % 13) from c;
create index i on t(b); select b, count(*), sum(a) from t group by b order by 2 desc, 1 limit 3;"""

_FRAME_POINTERS = ("-fno-omit-frame-pointer",)
# What a build is: a compiler, static or dynamic, a libc, flags.
BUILDS = {
    "gcc static": ("gcc", "-static", ()),
    "gcc dynamic": ("gcc", "", ()),
    "gcc static fp": ("gcc", "-static", _FRAME_POINTERS),
    "gcc dynamic fp": ("gcc", "", _FRAME_POINTERS),
    "clang dynamic": ("gnu", "", ()),
    "clang dynamic fp": ("gnu", "", _FRAME_POINTERS),
    "clang musl static": ("musl", "-static", ()),
    "clang musl static fp": ("musl", "-static", _FRAME_POINTERS),
}
TARGETS = ("x86_64", "arm64", "a32", "thumb")
_ZIG = {
    "x86_64": "x86_64-linux-{}",
    "arm64": "aarch64-linux-{}",
    "a32": "arm-linux-{}eabihf",
    "thumb": "arm-linux-{}eabihf",
}
_DEBIAN = {"x86_64": "amd64", "arm64": "arm64", "a32": "armhf"}
_LIBRARIES = {"x86_64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "a32": "arm-linux-gnueabihf"}
_GLIBC = ".2.36"  # of the sysroots
OWN = ("hello", "sort", "signals", "threads", "exceptions", "contexts", "jumps", "vforked")
_NOT_WITH_MUSL = {"contexts": "musl has no makecontext"}
_PACKAGES = (
    *("bash-static", "busybox-static", "lua5.4", "sqlite3"),
    *("libsqlite3-0", "libreadline8", "libtinfo6", "zlib1g"),
)
_SOURCES = {"lua": "lua5.4", "minigzip": "zlib"}
_DEB = "deb http://deb.debian.org/debian bookworm main\ndeb-src http://deb.debian.org/debian bookworm main\n"


@dataclass(frozen=True, slots=True)
class RunnableProgram:
    """A program file and what it is given. ``emulated``: elsewhere is qemu-user."""

    name: str
    target: str
    build: str
    path: Path
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    libraries: tuple[str, ...] = ()
    data: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.target} {self.build}"

    @property
    def emulated(self) -> bool:
        return bool(COMPILERS[self.target].emulator)

    @property
    def environment(self) -> dict[str, str]:
        found = {"PATH": "/bin", "LANG": "C", "HOME": "/nowhere"}
        return found | ({"LD_LIBRARY_PATH": ":".join(self.libraries)} if self.libraries else {})


def here(program: RunnableProgram) -> dict[str, Any]:
    """What `run_process` is told."""
    shown = {each: each for each in (*program.libraries, program.data) if each}
    return {"environment": program.environment, "stdin": program.stdin, "folders": shown}


def there(program: RunnableProgram) -> tuple[bytes, int]:
    """Standard output and exit status natively, or of qemu-user."""
    return outside(program.path, program.target, program.arguments, program.environment, program.stdin)


def wanted(
    folder: Path, programs: list[str] | None, targets: list[str] | None, builds: list[str] | None
) -> Iterator[tuple[RunnableProgram | str, str]]:
    """Every program that is asked for, made; or its name, and why it cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    _scripts(folder)
    for target in targets or TARGETS:
        for name in programs or (*OWN, *_SOURCES):
            if name not in (*OWN, *_SOURCES):
                continue
            for build in builds or BUILDS:
                if build in BUILDS:
                    yield _made(folder, name, target, build)
        if target in _DEBIAN and "Debian" in (builds or ["Debian"]):
            yield from _packaged(folder, target, programs)


def _scripts(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/script").write_text(SCRIPT)
    (folder / "data/script.lua").write_text(LUA)


def _made(folder: Path, name: str, target: str, build: str) -> tuple[RunnableProgram | str, str]:
    output = folder / "built" / "-".join((name, target, *build.split()))
    label = f"{name} {target} {build}"
    if "musl" in build and name in _NOT_WITH_MUSL:
        return label, _NOT_WITH_MUSL[name]
    if not output.exists():
        output.parent.mkdir(exist_ok=True)
        done = subprocess.run(
            _command(folder, name, target, build, output), capture_output=True, text=True, check=False
        )
        if done.returncode:
            return label, f"is not built: {done.stderr.strip().splitlines()[0][:160] if done.stderr.strip() else '?'}"
    data = str(folder / "data")
    arguments, stdin = {"lua": ((f"{data}/script.lua",), b""), "minigzip": ((), 40 * LUA.encode())}.get(name, ((), b""))
    return RunnableProgram(name, target, build, output, tuple(arguments), stdin, (), data), ""


def _command(folder: Path, name: str, target: str, build: str, output: Path) -> list[str]:
    kind, link, flags = BUILDS[build]
    sources, more = _sources(folder, name)
    language = "c++" if sources[0].suffix == ".cc" else "c"
    if kind == "gcc":
        start = [COMPILERS[target].compiler.format("g++" if language == "c++" else "gcc"), *COMPILERS[target].flags]
    else:
        triple = _ZIG[target].format(kind) + (_GLIBC if kind == "gnu" else "")
        start = [sys.executable, "-m", "ziglang", "c++" if language == "c++" else "cc", "-target", triple]
        start += ["-mthumb"] if target == "thumb" else []
    return [
        *start,
        "-O2",
        "-w",
        *flags,
        *([link] if link else []),
        *more,
        "-o",
        str(output),
        *map(str, sources),
        "-lm",
        "-lpthread",
    ]


def _sources(folder: Path, name: str) -> tuple[list[Path], list[str]]:
    if name in OWN:
        return [next(path for path in SOURCES.iterdir() if path.stem == name)], [f"-I{SOURCES}"]
    root = folder / "src" / _SOURCES[name]
    if not root.exists():
        root.parent.mkdir(exist_ok=True)
        _apt(folder, "amd64", "source", "--download-only", _SOURCES[name], cwd=root.parent)
        (archive,) = root.parent.glob(f"{_SOURCES[name]}_*.orig.tar.*")
        root.mkdir()
        subprocess.run(["tar", "xf", archive, "-C", root, "--strip-components=1"], check=True)
    if name == "lua":
        return [p for p in sorted((root / "src").glob("*.c")) if p.name != "luac.c"], ["-DLUA_USE_POSIX"]
    parts = [p for p in sorted(root.glob("*.c"))]
    return [*parts, root / "test/minigzip.c"], [f"-I{root}", "-DHAVE_UNISTD_H"]


def _apt(folder: Path, architecture: str, *command: str, cwd: Path) -> None:
    """apt-get with lists of its own, of the release that is compared, and its sources."""
    (folder / "sources.list").write_text(_DEB)
    config = folder / "apt.conf"
    config.write_text(f'Dir::Etc::sourcelist "{folder / "sources.list"}"; Dir::Etc::sourceparts "-";\n')
    apt = Apt(folder / f"apt-{architecture}", architecture)
    with patch.dict(os.environ, APT_CONFIG=str(config)):
        apt.make_ready()
        apt.run(*command, where=cwd)


def _packaged(folder: Path, target: str, programs: list[str] | None) -> Iterator[tuple[RunnableProgram | str, str]]:
    debs, root = folder / f"debs-{target}", folder / f"root-{target}"
    cases = (
        ("bash", "bin/bash-static", ("{data}/script",)),
        ("busybox sh", "bin/busybox", ("sh", "{data}/script")),
        ("busybox awk", "bin/busybox", ("awk", "BEGIN{for(i=0;i<200;i++)s+=i*i; print s}")),
        ("busybox sha256sum", "bin/busybox", ("sha256sum", "{data}/script.lua")),
        ("Lua", "usr/bin/lua5.4", ("{data}/script.lua",)),
        ("SQLite", "usr/bin/sqlite3", (":memory:", SQL)),
    )
    chosen = [case for case in cases if not programs or case[0] in programs]
    if chosen and not root.exists():
        debs.mkdir(exist_ok=True)
        _apt(folder, _DEBIAN[target], "download", *_PACKAGES, cwd=debs)
        for package in debs.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
    data = str(folder / "data")
    for name, path, arguments in chosen:
        libraries = tuple(
            each for part in ("usr/lib", "lib") if os.path.isdir(each := f"{root}/{part}/{_LIBRARIES[target]}")
        )
        given = tuple(argument.replace("{data}", data) for argument in arguments)
        yield RunnableProgram(name, target, "Debian", root / path, given, b"", libraries, data), ""


if __name__ == "__main__":
    sys.exit(main())
