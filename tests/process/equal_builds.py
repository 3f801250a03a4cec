"""Programs and how they are built for `tests.process.equal`: sources, compilers, packages of other architectures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.process.builds import PROGRAMS as SOURCES
from tests.process.builds import TARGETS as COMPILERS

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
    compiler = COMPILERS[program.target]
    name = f"/program/{program.path.name}"
    start, executable, environment = [name], str(program.path), program.environment
    if compiler.emulator:
        given = [part for each in environment.items() for part in ("-E", "=".join(each))]
        start = [compiler.emulator, *given, "-L", compiler.libraries, "-0", name, str(program.path)]
        executable, environment = compiler.emulator, {"PATH": os.environ["PATH"]}
    found = subprocess.run(
        [*start, *program.arguments],
        executable=executable if not compiler.emulator else None,
        input=program.stdin,
        capture_output=True,
        timeout=300,
        env=environment,
        check=False,
    )
    return found.stdout, found.returncode


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
    """apt-get with lists of its own, so that no list of the machine is changed."""
    state = folder / f"apt-{architecture}"
    for each in ("lists/partial", "cache/archives/partial"):
        (state / each).mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(_DEB)
    (state / "status").touch()
    options = (
        f"Dir::State={state}",
        f"Dir::State::status={state / 'status'}",
        f"Dir::State::lists={state / 'lists'}",
        f"Dir::Cache={state / 'cache'}",
        f"Dir::Etc::sourcelist={state / 'sources.list'}",
        "Dir::Etc::sourceparts=-",
        f"APT::Architecture={architecture}",
        f"APT::Architectures={architecture}",
        "APT::Sandbox::User=root",
    )
    start = ["apt-get", "-qq", *(part for each in options for part in ("-o", each))]
    if not (state / "updated").exists():
        subprocess.run([*start, "update"], check=True, capture_output=True)
        (state / "updated").touch()
    subprocess.run([*start, *command], check=True, capture_output=True, cwd=cwd)


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
