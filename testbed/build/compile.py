"""Building with clang 22 and lld, both from the ``ziglang`` wheel: nothing else has to be installed.

The wheel's one binary is raw clang (``zig clang``) and raw lld (``zig ld.lld``). Neither uses Zig's own cache or
libraries. Everything happens in a temporary folder under the program's own file names, so that the output of
equal input is equal: no path of this machine reaches the debug information.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from testbed.arch import Arch, Isa
from testbed.build.confined import WALL_SECONDS, limit_met, run_confined
from testbed.build.targets import (
    CLANG,
    GAS,
    GAS_SYNTAX,
    GNU,
    IMAGE_BASE,
    LLD,
    MACH_O,
    PAGE,
    TEXT_BASE,
    ZEROED_BASE,
    clang_flags,
    gas_flags,
    gcc_flags,
)
from testbed.image import read_image
from testbed.program.model import Source
from testbed.program.start import MACH_O_START
from testbed.words.errors import BuildError, ToolchainMissing
from testbed.words.files import WorkFolder

# Running a compiler, an assembler or a linker in a temporary folder, and telling what went wrong.

NOT_FOUND = re.compile(r"incbin|No such file|not found|Permission denied|[Cc]ould not find|can't open", re.IGNORECASE)

_ERROR = re.compile(r"\b[Ee]rror: |undefined reference")
_UNDEFINED = re.compile(r"undefined (symbol|reference)")  # as lld and GNU ld say it
_NO_ENTRY = re.compile(r"cannot find entry symbol ([\w.$]+)")  # lld and GNU ld warn, and exit with 0


def work_folder(source: Source, start: str = "") -> WorkFolder:
    """A folder to build in, with the source, its fragments, and ``start.S`` if there is one."""
    try:
        folder = WorkFolder("build")
    except OSError as error:
        raise BuildError(f"no temporary folder can be made: {error.strerror or error}; set TMPDIR") from error
    write_source(source, folder.path)
    if start:
        (folder.path / "start.S").write_text(start, encoding="utf-8")
    return folder


def write_source(source: Source, folder: Path) -> None:
    """Write a copy of a source into ``folder``, with the fragments that it includes."""
    (folder / source.path.name).write_text(source.text, encoding="utf-8")
    for fragment in source.fragments:
        (folder / fragment.name).parent.mkdir(parents=True, exist_ok=True)
        (folder / fragment.name).write_text(fragment.text, encoding="utf-8")


def run_tool(
    command: Sequence[str],
    folder: Path,
    source: Source,
    *,
    links: bool = False,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one tool on the copy of ``source`` in ``folder``.

    Raises BuildError that opens with the tool's first error message, under the name of the user's own file; also where
    a linker only warns that there is no entry symbol: such a file cannot be started.
    """
    try:
        done = run_confined(command, folder, environment=environment)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}", command=command) from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{source.path}: the build took more than {WALL_SECONDS} s", command=command) from error
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")
    if links and not done.returncode and (warned := _NO_ENTRY.search(printed)):
        raise BuildError(_no_entry(source, warned[1]), command=command)
    if done.returncode:
        if limit := limit_met(done.returncode, printed):
            raise BuildError(f"{source.path}: the build was stopped: it wanted more than {limit}", command=command)
        # The tools saw copies; the reader wants the files that were written by hand.
        names = "|".join(re.escape(name) for name in (source.path.name, *(f.name for f in source.fragments)))
        named = re.sub(rf"(?m)(^|\s)(?:\./)?({names})(?=:\d)", lambda m: f"{m[1]}{source.path.parent / m[2]}", printed)
        what = "does not link" if links else "does not compile"
        wrong = next(filter(_ERROR.search, named.splitlines()), "")
        detail = wrong or f"{source.path}: {what} (exit status {done.returncode})"
        rest = named if detail not in named else named.replace(detail, "", 1).strip("\n")
        if NOT_FOUND.search(detail):
            detail += " (a build reads the source's own files and what it names in its header, and no others)"
        if _UNDEFINED.search(detail):
            detail += (
                " (sources are built without a C library: a program that needs one is built first, and its file run)"
            )
        raise BuildError(detail, command=command, output=rest)


def _no_entry(source: Source, name: str) -> str:
    """Why a linker found no place to start at, and what to write."""
    if re.search(rf"(?m)^\s*{re.escape(name)}\s*:", source.text):
        return f'{source.path}: the entry symbol {name!r} is not global: write ".globl {name}" in front of its label'
    return f'{source.path}: the entry symbol {name!r} is not in the file: its label and ".globl {name}" have to be'


OTHER_ZIG = "TESTBED_OTHER_ZIG"  # names the binary of another ziglang wheel: another generation of clang
_NO_RUNTIME = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
_FREESTANDING = ("-ffreestanding", "-fno-stack-protector", "-nostdlib", "-g", "-c")


def find_zig() -> Path:
    """The binary of the ``ziglang`` wheel, found without running or importing it.

    Raises ToolchainMissing where the wheel is not installed.
    """
    spec = find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        binary = Path(folder) / "zig"
        if binary.is_file():
            return binary
    raise ToolchainMissing("clang (ziglang)", "pip install ziglang==0.17.0")


def find_other_zig() -> Path:
    """The binary that TESTBED_OTHER_ZIG names. Raises ToolchainMissing where it names none."""
    binary = Path(os.environ.get(OTHER_ZIG) or "/nowhere")
    if binary.is_file():
        return binary.resolve()
    how = f"pip install --target FOLDER ziglang==0.13.0, and {OTHER_ZIG}=FOLDER/ziglang/zig"
    raise ToolchainMissing("a second clang", how)


@lru_cache(maxsize=4)
def clang_version(zig: Path) -> str:
    """The first line of ``clang --version``: the generation, whatever wheel it came from."""
    done = subprocess.run((str(zig), "clang", "--version"), capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def compile_c(
    source: Source,
    arch: Arch,
    isa: Isa,
    flags: Sequence[str],
    start: str,
    *,
    one_object: bool = False,
    zig: Path | None = None,
) -> bytes:
    """A freestanding C or C++ program, linked with an assembly ``_start``: the bytes of an ELF file.

    ``zig`` is the binary that compiles; None: the installed wheel's.

    With ``one_object`` the two are assembled as one source. lld puts the ``.sframe`` of several objects one after the
    other, headers and all, and no reader finds the second.

    Raises BuildError with clang's own messages (file, line, column) or lld's, ToolchainMissing.
    """
    zig = zig or find_zig()
    with work_folder(source, start) as folder:
        headers = zig.parent / "lib" / "include"
        common = [*_FREESTANDING, "-fdebug-compilation-dir=.", "-isystem", str(headers)]
        # The headers' folder differs between machines; debug information names their files.
        common = [*common, f"-ffile-prefix-map={headers}=include"]
        told = clang_flags(isa.name, source.header, flags)
        if one_object:
            language = _NO_RUNTIME if source.path.suffix == ".cc" else ()
            command = ("clang", *common, *language, *told, "-S", source.path.name, "-o", "program.s")
            _run(zig, folder, source, command)
            compiled = (folder / "program.s").read_text(encoding="utf-8")
            (folder / "whole.S").write_text(start + compiled, encoding="utf-8")
            _run(zig, folder, source, ("clang", "-c", *CLANG[isa.name], *flags, "whole.S", "-o", "whole.o"))
            return _link(zig, folder, source, arch, ("whole.o",)).read_bytes()
        objects = _objects(zig, folder, source, isa, common, told)
        _run(zig, folder, source, ("clang", "-c", *CLANG[isa.name], "start.S", "-o", "start.o"))
        return _link(zig, folder, source, arch, ("start.o", *objects)).read_bytes()


def _objects(
    zig: Path, folder: Path, source: Source, isa: Isa, common: Sequence[str], told: Sequence[str]
) -> tuple[str, ...]:
    """The object of every file of a program: C, C++ or assembly."""
    made = []
    for number, unit in enumerate(source.units(isa)):
        before = ("-c",) if unit.endswith(".S") else (*common, *_NO_RUNTIME) if unit.endswith(".cc") else common
        made.append(f"program{number or ''}.o")
        _run(zig, folder, source, ("clang", *before, *told, unit, "-o", made[-1]))
    return tuple(made)


def compile_mach_o(source: Source, arch: Arch, flags: Sequence[str]) -> bytes:
    """A freestanding C program as a Mach-O file, linked with the ``_start`` of its architecture by Zig's own linker.

    There is no debug information: in this format it stays in the object file. Raises BuildError with clang's own
    messages (file, line, column) or the linker's, ToolchainMissing.
    """
    zig, target, start = find_zig(), MACH_O[arch.name], MACH_O_START[arch.name]
    assert target is not None, arch
    assert start is not None, arch
    with work_folder(source, start) as folder:
        common = (*_FREESTANDING, "-g0", "-isystem", str(zig.parent / "lib" / "include"), *target.clang)
        _run(zig, folder, source, ("clang", *common, *flags, *source.header.flags, source.path.name, "-o", "program.o"))
        _run(zig, folder, source, ("clang", "-c", *target.clang, "start.S", "-o", "start.o"))
        # An assembly source's _start is __start to the linker.
        entry = f"-Wl,-e,_{source.header.entry}"
        link = ("cc", "-target", target.linker, "-nostdlib", entry, "start.o", "program.o", "-o", "program")
        _run(zig, folder, source, link, {"ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)})
        return (folder / "program").read_bytes()


def assemble(source: Source, arch: Arch, isa: Isa, flags: Sequence[str]) -> bytes:
    """An assembly program through clang's assembler and lld: the bytes of an ELF file.

    The code is placed where the ``keystone`` recipe places it, so that the two files' code can be compared byte
    for byte. Raises BuildError with clang's own messages (file, line, column) or lld's, ToolchainMissing.
    """
    with work_folder(source) as folder:
        return _assembled(folder, source, arch, isa, flags, source.header.entry).read_bytes()


def assembled_text(source: Source, arch: Arch, isa: Isa) -> bytes:
    """The ``.text`` of that program. Its entry symbol need not be global. Raises as `assemble` does."""
    # Without the preprocessor, so that all messages have the source's own lines. Alone, -mthumb is for compilers.
    begins = ("-x", "assembler", *(f"-Wa,{flag}" for flag in CLANG[isa.name] if flag == "-mthumb"))
    with work_folder(source) as folder:
        return read_image(_assembled(folder, source, arch, isa, begins, hex(TEXT_BASE))).sections[".text"].data


def _assembled(folder: Path, source: Source, arch: Arch, isa: Isa, flags: Sequence[str], entry: str) -> Path:
    zig = find_zig()
    objects = _objects(zig, folder, source, isa, _FREESTANDING, clang_flags(isa.name, source.header, flags))
    placed = (
        f"--image-base={IMAGE_BASE:#x}",
        f"-Ttext={TEXT_BASE:#x}",
        f"-Tbss={ZEROED_BASE:#x}",
        f"-zmax-page-size={PAGE:#x}",
        "--no-merge-exidx-entries",  # one entry per function, as the source says
    )
    return _link(zig, folder, source, arch, (*placed, *objects), entry)


def _link(zig: Path, folder: Path, source: Source, arch: Arch, inputs: Sequence[str], entry: str | None = None) -> Path:
    # ARM's tables mention __aeabi_unwind_cpp_pr0 with R_ARM_NONE relocations: lld leaves those symbols undefined
    # without complaint, and nothing that runs here calls them.
    options = ("-m", LLD[arch.name], "-static", "--eh-frame-hdr", "-e", entry or source.header.entry)
    asked = [flag.removeprefix("-Wl,") for flag in source.header.flags if flag.startswith("-Wl,")]
    _run(zig, folder, source, ("ld.lld", *options, *asked, *inputs, "-o", "program.elf"))
    return folder / "program.elf"


def _run(
    zig: Path, folder: Path, source: Source, arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> None:
    links = arguments[0] in ("ld.lld", "cc")
    run_tool((str(zig), *arguments), folder, source, links=links, environment=environment)


# Building with GCC 12 and GNU binutils, as Debian packages them, also for other architectures than the host's.
#
# Another compiler's code shapes and another linker's tables: `.eh_frame` and `.sframe` merged and sorted by GNU ld,
# with its own `.eh_frame_hdr`.

GENERATION = "12"  # of GCC: another one makes other code, and other counts
_CXX = ".cc"
# Warnings are left to clang, which compiles the same sources. Without the last, equal input gives equal output only
# under equal temporary names.
_GNU_FREESTANDING = ("-ffreestanding", "-fno-stack-protector", "-nostdlib", "-g", "-w", "-c", "-frandom-seed=0")


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
    with work_folder(source, start) as folder:
        objects = _gnu_objects(gcc, folder, source, isa, flags)
        # Only what tables there are is said to the assembler: a compiler's other flags are not for it.
        passed = tuple(flag for flag in flags if flag.startswith("-Wa,"))
        run_tool(
            (gcc, "-c", *GAS[isa.name], *GAS_SYNTAX[isa.name], *passed, "start.S", "-o", "start.o"), folder, source
        )
        _gnu_link(gcc, folder, source, arch, ("start.o", *objects))
        return (folder / "program.elf").read_bytes()


def _gnu_objects(gcc: str, folder: Path, source: Source, isa: Isa, flags: Sequence[str]) -> tuple[str, ...]:
    """The object of every file of a program: C, C++ or assembly, whichever the first one is."""
    common = (*_GNU_FREESTANDING, f"-fdebug-prefix-map={folder}=.", "-gno-record-gcc-switches")
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
    with work_folder(source) as folder:
        objects = _gnu_objects(gcc, folder, source, isa, flags)
        placed = (
            f"-Ttext-segment={IMAGE_BASE:#x}",
            f"-Ttext={TEXT_BASE:#x}",
            f"-Tbss={ZEROED_BASE:#x}",
            f"-zmax-page-size={PAGE:#x}",
            *GNU[arch.name].as_written,
        )
        _gnu_link(gcc, folder, source, arch, objects, placed)
        return (folder / "program.elf").read_bytes()


def _gnu_link(
    gcc: str, folder: Path, source: Source, arch: Arch, inputs: Sequence[str], placed: Sequence[str] = ()
) -> None:
    options = ("--eh-frame-hdr", "--build-id=none", "-e", source.header.entry, *GNU[arch.name].link_flags, *placed)
    passed = [f"-Wl,{option}" for option in options] + [f for f in source.header.flags if f.startswith("-Wl,")]
    command = (gcc, "-static", "-nostdlib", "-no-pie", *passed, *inputs, "-o", "program.elf")
    run_tool(command, folder, source, links=True)
