"""Agents: the signal handler of a profiler with a real unwinder inside, built as a program for the emulator.

Four unwinders, each from where a distribution's programs get it:

* ``libgcc``: GCC's ``_Unwind_Backtrace``, from the ``libgcc_eh.a`` of the GCC that is installed;
* ``glibc``: glibc's ``backtrace``, from the ``libc.a`` of the C library that is installed, over the same libgcc;
* ``llvm``: LLVM's libunwind, compiled from the sources inside the ``ziglang`` wheel;
* ``nongnu``: nongnu libunwind, from the ``libunwind.a`` of the distribution's package for the architecture.

`agent.c` beside this file holds the handler and the few functions of a C library that they call.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from testbed.arch import Arch, PerArch
from testbed.build import cache
from testbed.build.compile import find_zig
from testbed.build.confined import run_confined
from testbed.build.targets import LLD
from testbed.image import Image, read_image
from testbed.referee.model import Found
from testbed.referee.process.limits import printed
from testbed.words.errors import BuildError, ToolchainMissing
from testbed.words.files import WorkFolder

SOURCE = Path(__file__).with_name("agent.c")
STUBS = Path(__file__).with_name("libunwind_stubs.c")
BASE = 0x5000_0000  # no program of the corpus lies there, whatever its slide
_ALONE = ("-static", "-nostdlib", "-fno-pie", "-no-pie", "-Wl,--eh-frame-hdr", f"-Wl,-Ttext-segment={BASE:#x}")
_TIMEOUT = 120  # seconds; the slowest takes 3
_C = ("-std=gnu11", "-O2", "-ffreestanding", "-fno-stack-protector", "-fasynchronous-unwind-tables")
_LLVM = ("-O2", "-g0", "-DNDEBUG", "-funwind-tables", "-fno-sanitize=all", "-D_LIBUNWIND_IS_NATIVE_ONLY")
_LLVM_PARTS = (
    "libunwind.cpp",
    "Unwind-EHABI.cpp",
    "UnwindLevel1.c",
    "UnwindLevel1-gcc-ext.c",
    "UnwindRegistersSave.S",
    "UnwindRegistersRestore.S",
)


@dataclass(frozen=True, slots=True)
class AgentCompiler:
    """The GCC that builds for an architecture, and the Debian packages that bring it and a C library."""

    command: str
    packages: str


GNU = PerArch(
    {
        "x86_64": AgentCompiler("gcc", "apt install gcc libc6-dev"),
        "arm64": AgentCompiler("aarch64-linux-gnu-gcc", "apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
        "arm32": AgentCompiler("arm-linux-gnueabihf-gcc", "apt install gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"),
    }
)
TRIPLES = PerArch({"x86_64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "arm32": "arm-linux-gnueabihf"})
_UNPACKED = "dpkg --add-architecture {0}; apt-get update; apt-get download libunwind-dev:{0}; dpkg -x *_{0}.deb /"
NONGNU_PACKAGES = PerArch(
    {
        "x86_64": "apt-get install libunwind-dev",
        "arm64": _UNPACKED.format("arm64"),  # unpacked, not installed: nothing of it is executed on the host
        "arm32": _UNPACKED.format("armhf"),
    }
)
NONGNU_VERSION = re.compile(r"^Version: (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AgentLibrary:
    """One of the four, and how it is asked: its name, the macro that selects it in the agent.

    ``claims_sp``: it says each frame's SP, too. ``always_ends``: it returns nothing that tells an error from the end.
    ``from_context``: it is given the registers that the signal came with, and does not pass its frame itself.
    ``by_force``: it is asked by ``_Unwind_ForcedUnwind``.
    """

    name: str
    macro: str
    claims_sp: bool = True
    always_ends: bool = False
    from_context: bool = False
    by_force: bool = False

    @property
    def macros(self) -> tuple[str, ...]:
        """What selects it in the agent, as options of a compiler."""
        return (f"-D{self.macro}", *(("-DFORCED",) if self.by_force else ()))


LIBGCC = AgentLibrary("libgcc", "LIBGCC")
GLIBC = AgentLibrary("glibc", "GLIBC", claims_sp=False, always_ends=True)
LLVM = AgentLibrary("llvm", "LLVM")
LIBGCC_FORCED = AgentLibrary("libgcc_forced", "LIBGCC", by_force=True)
LLVM_FORCED = AgentLibrary("llvm_forced", "LLVM", by_force=True)
NONGNU = AgentLibrary("nongnu", "NONGNU", from_context=True)


@lru_cache(maxsize=16)
def agent_for(source: AgentLibrary, arch: Arch) -> Image:
    """The agent with an unwinder for an architecture, built if need be.

    Raises ToolchainMissing, or BuildError with what the compiler printed.
    """
    told = found_for(source, arch)
    if told is None:
        raise ToolchainMissing(source.name, brought_by(source, arch))
    files = (SOURCE, STUBS, Path(__file__))
    key = hashlib.sha256(b"\0".join((*(file.read_bytes() for file in files), str(told).encode()))).hexdigest()
    name = f"agent.{source.name}.{arch.name}.{key[:24]}.elf"
    return read_image(cache.kept(name, lambda: _built(source, arch)), arch=arch)


@lru_cache(maxsize=16)
def found_for(source: AgentLibrary, arch: Arch) -> Found | None:
    """Which one an agent would be built from; None where something is missing."""
    if source.macro == LLVM.macro:
        try:
            return Found(f"LLVM libunwind of ziglang {version('ziglang')}", str(_llvm_folder()))
        except ToolchainMissing:
            return None
    command = shutil.which(GNU[arch.name].command)
    if command is None:
        return None
    if source is NONGNU:
        told = NONGNU_VERSION.search(_text(_nongnu_folder(arch) / "pkgconfig" / "libunwind.pc"))
        archive = _nongnu_folder(arch) / "libunwind.a"
        return Found(f"libunwind {told[1]}", str(archive)) if told and archive.is_file() else None
    library = "libc.a" if source is GLIBC or arch.isa_flag is not None else "libgcc_eh.a"
    path = Path(printed((command, f"-print-file-name={library}")).strip())
    if not path.is_absolute() or not path.is_file():
        return None
    return Found(f"{source.name.partition('_')[0]} of GCC {printed((command, '-dumpfullversion')).strip()}", str(path))


def _built(source: AgentLibrary, arch: Arch) -> bytes:
    with WorkFolder("agent") as folder:
        zig = {name: str(folder / "zig") for name in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
        own = [SOURCE.parent, *([find_zig().parent] if source.macro == LLVM.macro else [])]
        for command in _COMMANDS[source.macro](source, arch):
            done = run_confined(command, folder, zig, readable=own, cpu_seconds=_TIMEOUT)
            if done.returncode:
                said = done.stderr.decode("utf-8", "replace")
                raise BuildError(f"no agent of {source.name} for {arch}", command=command, output=said)
        return (folder / "agent").read_bytes()


def _gnu(source: AgentLibrary, arch: Arch) -> list[Sequence[str]]:
    libraries = ("-Wl,--start-group", "-lgcc_eh", "-lgcc", "-l:libc.a", "-Wl,--end-group")
    return [(GNU[arch.name].command, *_C, *source.macros, str(SOURCE), *libraries, *_ALONE, "-o", "agent")]


def _nongnu(source: AgentLibrary, arch: Arch) -> list[Sequence[str]]:
    """With no C library at all: what the library asks of one is in `libunwind_stubs.c`."""
    sources = (str(SOURCE), str(STUBS), f"-I/usr/include/{TRIPLES[arch.name]}", *source.macros)
    archive = str(_nongnu_folder(arch) / "libunwind.a")
    libraries = ("-Wl,--start-group", archive, "-lgcc_eh", "-lgcc", "-Wl,--end-group")
    return [(GNU[arch.name].command, *_C, *sources, *libraries, *_ALONE, "-o", "agent")]


def _nongnu_folder(arch: Arch) -> Path:
    return Path("/usr/lib") / TRIPLES[arch.name]


def brought_by(source: AgentLibrary, arch: Arch) -> str:
    """What brings an unwinder for an architecture."""
    if source.macro == LLVM.macro:
        return "pip install ziglang==0.17.0"
    packages = GNU[arch.name].packages
    return f"{packages}; {NONGNU_PACKAGES[arch.name]}" if source is NONGNU else packages


def _llvm(source: AgentLibrary, arch: Arch) -> list[Sequence[str]]:
    zig, folder = str(find_zig()), _llvm_folder()
    # The headers from a copy: clang leaves out an -I that is one of its own folders, and its own unwind.h comes first.
    target = ("-target", TRIPLES[arch.name], "-c", "-Iinclude")
    commands: list[Sequence[str]] = [("cp", "-r", str(folder / "include"), "include")]
    for part in _LLVM_PARTS:
        compiler = ("c++", "-fno-exceptions", "-fno-rtti") if part.endswith(".cpp") else ("cc",)
        commands.append((zig, *compiler, *target, *_LLVM, str(folder / "src" / part), "-o", f"{part}.o"))
    agent = ("-fno-builtin", "-fno-sanitize=all", "-g0", *source.macros)
    commands.append((zig, "cc", *target, *_C, *agent, str(SOURCE), "-o", "agent.o"))
    objects = ("agent.o", *(f"{part}.o" for part in _LLVM_PARTS))
    link = ("ld.lld", "-m", LLD[arch.name], "-static", "--eh-frame-hdr", f"--image-base={BASE:#x}", "-e", "_start")
    commands.append((zig, *link, *objects, "-o", "agent"))
    return commands


_COMMANDS = MappingProxyType({LIBGCC.macro: _gnu, GLIBC.macro: _gnu, LLVM.macro: _llvm, NONGNU.macro: _nongnu})


def _llvm_folder() -> Path:
    folder = find_zig().parent / "lib" / "libunwind"
    if not (folder / "src" / _LLVM_PARTS[0]).is_file():
        raise ToolchainMissing("LLVM's libunwind", "pip install ziglang==0.17.0")
    return folder


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
