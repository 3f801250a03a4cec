"""Programs compiled with other debug information than the recipes ask for, and what an independent reader says."""

import subprocess
from functools import cache
from pathlib import Path

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build
from testbed.build.compile import compile_c
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.image import Image, read_image
from testbed.program.model import Language
from testbed.program.start import START
from testbed.words.files import WorkFolder
from tests.corpus import tool

# binutils by architecture: the program, and the Debian package that brings it.
MACHINES = {
    "x86_64": ("addr2line", "binutils"),
    "arm64": ("aarch64-linux-gnu-addr2line", "binutils-aarch64-linux-gnu"),
    "arm32": ("arm-linux-gnueabihf-addr2line", "binutils-arm-linux-gnueabihf"),
}
DWARF_4 = ("-gdwarf-4", "-ggdb")  # with GNU's forms of call sites

COMPILED = [
    program.name for program in PROGRAMS.values() if Language.C in {s.language for s in program.sources.values()}
]
CELLS = [
    (name, arch.name, recipe.name)
    for name in COMPILED
    for arch in PROGRAMS[name].arches()
    for recipe in recipes_for(PROGRAMS[name], arch)
    if recipe.tool is Tool.CLANG and recipe.name in ("clang-O0", "clang-O2", "clang-thumb-O2")
]


_FOLDERS: list[WorkFolder] = []


def _folder() -> Path:
    """A folder of its own for a file that is made once; gone with this process."""
    _FOLDERS.append(WorkFolder("tests"))
    return _FOLDERS[-1].path


@cache
def built(program: str, arch: str, recipe: str, extra: tuple[str, ...] = ()) -> Image:
    """A built program; with ``extra`` flags compiled apart, into a temporary file."""
    chosen = RECIPES[recipe]
    if not extra:
        return build(PROGRAMS[program], ARCHES[arch], chosen).image
    source = chosen.source_of(PROGRAMS[program], ARCHES[arch])
    isa = chosen.isa_on(ARCHES[arch])
    assert source is not None and isa is not None
    path = _folder() / f"{program}.elf"
    path.write_bytes(compile_c(source, ARCHES[arch], isa, (*chosen.flags, *extra), chosen.start_of(isa)))
    return read_image(path)


def code_of(image: Image, arch: Arch) -> list[int]:
    """Every address at which an instruction of a function can begin."""
    unit = {"x86_64": 1, "arm64": 4, "arm32": 2}[arch.name]
    return [pc for s in image.symbols if s.is_function for pc in range(s.address, s.address + s.size, unit)]


Place = tuple[str, str, int]  # function, file, line


def addr2line(image: Image, pcs: list[int], *, readable: bool = True) -> list[list[Place]]:
    """For each address, ``addr2line -if``'s chain of (function, file, line), innermost first; line 0: none."""
    name, package = MACHINES[image.arch.name]
    command = [tool(name, package), "-aifC" if readable else "-aif", "-e", str(image.path)]
    return _chains(command, pcs)


def llvm_symbolizer(image: Image, pcs: list[int]) -> list[list[Place]]:
    """The same chains by LLVM's reader."""
    name = tool("llvm-symbolizer", "llvm")
    command = [name, f"--obj={image.path}", "-a", "--inlines", "--demangle", "--output-style=GNU"]
    return _chains(command, pcs)


def _chains(command: list[str], pcs: list[int]) -> list[list[Place]]:
    done = subprocess.run(
        command, input="\n".join(map(hex, pcs)), capture_output=True, text=True, check=True, timeout=60
    )
    chains: list[list[Place]] = []
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if line.startswith("0x") and line.removeprefix("0x").strip("0123456789abcdef") == "":
            chains.append([])
            continue
        file, _, number = next(lines).partition(" (discriminator")[0].rpartition(":")
        file = "" if file == "??" else file.replace("./", "")
        chains[-1].append((line, file, int(number) if number.isdecimal() else 0))
    assert len(chains) == len(pcs)
    return chains


GCC = {
    "x86_64": ("gcc", "gcc"),
    "arm64": ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    "arm32": ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
}


@cache
def built_by_gcc(program: str, arch: str, version: int = 5, extra: tuple[str, ...] = ()) -> Image:
    """A C program by the other compiler: other forms of range lists and call sites, and ``.cold`` pieces."""
    source = PROGRAMS[program].sources["c"]
    folder = _folder()
    (folder / "program.c").write_text(source.text, encoding="utf-8")
    return compile_by_gcc(folder, arch, f"-gdwarf-{version}", *extra)


def compile_by_gcc(folder: Path, arch: str, *flags: str) -> Image:
    """``program.c`` of a folder, with the ``_start`` of the first instruction set, as an image."""
    (folder / "start.S").write_text(START[ARCHES[arch].isas[0].name], encoding="utf-8")
    command = [tool(*GCC[arch]), "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-pie"]
    command += ["-no-pie", "-fcf-protection=none"] if arch == "x86_64" else []
    command += ["-marm"] if arch == "arm32" else []
    command += [*flags, "-Wno-attributes", "start.S", "program.c", "-o", "program.elf"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return read_image(folder / "program.elf")
