"""Building with GCC 12 and GNU binutils, as Debian packages them, also for other architectures than the host's.

Another compiler's code shapes and another linker's tables: `.eh_frame` and `.sframe` merged and sorted by GNU ld, with
its own `.eh_frame_hdr`. Everything happens in a temporary folder under the program's own file names, as in
`testbed.build.compile`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch, Isa
from testbed.build.compile import run_tool, work_folder, write_source
from testbed.build.targets import GAS, GAS_SYNTAX, GNU, IMAGE_BASE, PAGE, TEXT_BASE, ZEROED_BASE, gas_flags, gcc_flags
from testbed.program.model import Source
from testbed.words.errors import ToolchainMissing

GENERATION = "12"  # of GCC: another one makes other code, and other counts
_CXX = ".cc"
_NO_RUNTIME = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
# Warnings are left to clang, which compiles the same sources. Without the last, equal input gives equal output only
# under equal temporary names.
_FREESTANDING = ("-ffreestanding", "-fno-stack-protector", "-nostdlib", "-g", "-w", "-c", "-frandom-seed=0")


def find_gcc(arch: Arch, source: Source) -> Path:
    """The compiler of a source's language for an architecture.

    Raises ToolchainMissing with the Debian package where it is not installed.
    """
    kind = "g++" if source.path.suffix == _CXX else "gcc"
    found = shutil.which(_binary(arch, kind))
    if found is None:
        raise ToolchainMissing(_binary(arch, kind), f"apt-get install {package_of(arch, kind)}")
    return Path(found)


def package_of(arch: Arch, kind: str = "gcc") -> str:
    """The Debian package of an architecture's compiler, with the assembler and the linker among its dependencies."""
    return f"{kind}-{GENERATION}{GNU[arch.name].package}"


def is_installed(arch: Arch) -> bool:
    """True where C and assembly can be built for an architecture."""
    return shutil.which(_binary(arch, "gcc")) is not None


def _binary(arch: Arch, kind: str) -> str:
    return f"{GNU[arch.name].triple}-{kind}-{GENERATION}"


@lru_cache(maxsize=8)
def versions(compiler: Path, triple: str) -> str:
    """What decides the bytes of a file besides its source: the versions of compiler, assembler and linker."""
    said = []
    for command in (str(compiler), f"{triple}-as", f"{triple}-ld"):
        done = subprocess.run((command, "--version"), capture_output=True, text=True, check=False)
        said.append(done.stdout.partition("\n")[0])
    return "; ".join((re.sub(r"^\S+", "GCC", said[0]), *said[1:]))


def gnu_version(arch: Arch, source: Source) -> str:
    """The versions of the tools that build a source. Raises ToolchainMissing."""
    return versions(find_gcc(arch, source), GNU[arch.name].triple)


def compile_gcc(source: Source, arch: Arch, isa: Isa, flags: Sequence[str], start: str) -> bytes:
    """A freestanding C or C++ program, linked with an assembly ``_start``: the bytes of an ELF file.

    Raises BuildError with GCC's own messages (file, line, column) or ld's, ToolchainMissing.
    """
    gcc = str(find_gcc(arch, source))
    with work_folder() as folder:
        write_source(source, folder)
        (folder / "start.S").write_text(start, encoding="utf-8")
        objects = _objects(gcc, folder, source, isa, flags)
        # Only what tables there are is said to the assembler: a compiler's other flags are not for it.
        passed = tuple(flag for flag in flags if flag.startswith("-Wa,"))
        run_tool(
            (gcc, "-c", *GAS[isa.name], *GAS_SYNTAX[isa.name], *passed, "start.S", "-o", "start.o"), folder, source
        )
        _link(gcc, folder, source, arch, ("start.o", *objects))
        return (folder / "program.elf").read_bytes()


def _objects(gcc: str, folder: Path, source: Source, isa: Isa, flags: Sequence[str]) -> tuple[str, ...]:
    """The object of every file of a program: C, C++ or assembly, whichever the first one is."""
    common = (*_FREESTANDING, f"-fdebug-prefix-map={folder}=.", "-gno-record-gcc-switches")
    made = []
    for number, unit in enumerate(source.units(isa)):
        made.append(f"program{number or ''}.o")
        if unit.endswith(".S"):
            passed = tuple(flag for flag in flags if source.path.suffix == ".S" or flag.startswith("-Wa,"))
            command = (gcc, "-c", *gas_flags(isa.name, source.header, passed))
        else:
            language = _NO_RUNTIME if unit.endswith(_CXX) else ()
            command = (gcc, *common, *language, *gcc_flags(isa.name, source.header, flags))
        run_tool((*command, unit, "-o", made[-1]), folder, source)
    return tuple(made)


def assemble_gnu(source: Source, arch: Arch, isa: Isa, flags: Sequence[str]) -> bytes:
    """An assembly program through GNU as and ld: the bytes of an ELF file, placed as by `testbed.build.compile`.

    Raises BuildError with the assembler's own messages (file, line) or ld's, ToolchainMissing.
    """
    gcc = str(find_gcc(arch, source))
    with work_folder() as folder:
        write_source(source, folder)
        objects = _objects(gcc, folder, source, isa, flags)
        placed = (
            f"-Ttext-segment={IMAGE_BASE:#x}",
            f"-Ttext={TEXT_BASE:#x}",
            f"-Tbss={ZEROED_BASE:#x}",
            f"-zmax-page-size={PAGE:#x}",
            *GNU[arch.name].as_written,
        )
        _link(gcc, folder, source, arch, objects, placed)
        return (folder / "program.elf").read_bytes()


def _link(
    gcc: str, folder: Path, source: Source, arch: Arch, inputs: Sequence[str], placed: Sequence[str] = ()
) -> None:
    options = ("--eh-frame-hdr", "--build-id=none", "-e", source.header.entry, *GNU[arch.name].link_flags, *placed)
    passed = [f"-Wl,{option}" for option in options] + [f for f in source.header.flags if f.startswith("-Wl,")]
    command = (gcc, "-static", "-nostdlib", "-no-pie", *passed, *inputs, "-o", "program.elf")
    run_tool(command, folder, source, links=True)
