"""Our reading of real `__unwind_info` sections is LLVM's reading of the bytes."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.compile import find_zig
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.build.targets import MACH_O
from testbed.image import Image, read_image
from testbed.image.file_bytes import FileBytes
from testbed.image.macho import function_starts
from unwinders.formats.compact_unwind import CompactTable, Encoded, compact_table

BUILT = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in PROGRAMS.values()
    for arch in ARCHES.values()
    for recipe in recipes_for(program, arch)
    if recipe.tool is Tool.CLANG_MACH_O
]
LINKERS = ("ld64.lld", *(f"ld64.lld-{version}" for version in range(22, 13, -1)))


@cache
def built(program: str, arch: str, recipe: str) -> Image:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).image


def listed_by_llvm(path: Path) -> list[tuple[int, int]]:
    """(function offset, encoding) of every second-level entry."""
    objdump = shutil.which("llvm-objdump")
    if objdump is None:
        pytest.skip("needs the Debian package llvm: apt install llvm")
    text = subprocess.run([objdump, "--unwind-info", path], capture_output=True, text=True, check=True).stdout
    pages = text.partition("Second level indices:")[2]
    found = re.findall(r"\]: function offset=0x([0-9a-f]+), encoding(?:\[\d+\])?=0x([0-9a-f]+)", pages)
    return [(int(offset, 16), int(encoding, 16)) for offset, encoding in found]


def read_by_us(image: Image) -> list[tuple[int, int]]:
    return [(entry.start - image.base, entry.encoding) for entry in entries_of(compact_table(image))]


def entries_of(table: CompactTable) -> list[Encoded]:
    """All entries of a table. None is broken."""
    entries = [entry for number in range(len(table.pages)) for entry in table.entries(number)]
    assert all(isinstance(entry, Encoded) for entry in entries)
    return [entry for entry in entries if isinstance(entry, Encoded)]


@pytest.mark.parametrize(("program", "arch", "recipe"), BUILT)
def test_every_entry_equals_llvm_objdump(program: str, arch: str, recipe: str) -> None:
    image = built(program, arch, recipe)
    ours = read_by_us(image)
    assert len(ours) >= 2
    assert ours == listed_by_llvm(image.path)


def test_the_corpus_has_every_mode() -> None:
    """So that nothing here passes for want of a case; x86_64's size in the code comes with a frame of 20 KiB."""
    modes: dict[str, set[int]] = {}
    for program, arch, recipe in (parameters.values for parameters in BUILT):
        image = built(str(program), str(arch), str(recipe))
        modes.setdefault(str(arch), set()).update(encoding >> 24 & 0xF for _, encoding in read_by_us(image))
    assert modes == {"arm64": {2, 3, 4}, "x86_64": {1, 2, 3, 4}}


@pytest.mark.parametrize(("arch", "recipe"), [("arm64", "macho-O2"), ("x86_64", "macho-O2-nofp")])
def test_another_linkers_layout_equals_llvm_objdump(arch: str, recipe: str, tmp_path: Path) -> None:
    """lld writes regular pages, common encodings and other places than Zig's linker."""
    linker = next((found for name in LINKERS if (found := shutil.which(name))), None)
    if linker is None:
        pytest.skip("needs the Debian package lld: apt install lld")
    target = MACH_O[arch]
    assert target is not None
    source, compiled, linked = PROGRAMS["struct_return"].sources["c"], tmp_path / "o.o", tmp_path / "linked"
    command = (find_zig(), "clang", "-c", "-ffreestanding", *target.clang, *RECIPES[recipe].flags)
    subprocess.run([*command, source.path, "-o", compiled], check=True)
    system = target.linker.partition("-")[2]
    named = ("-arch", arch, "-platform_version", system, "15.0", "15.0")
    subprocess.run([linker, *named, "-dylib", compiled, "-o", linked], check=True)
    image = read_image(linked)
    ours = read_by_us(image)
    assert len(ours) >= 3
    assert compact_table(image).common
    assert ours == listed_by_llvm(linked)
    ours_here = read_by_us(built("struct_return", arch, recipe))
    assert ours[-1][1] == ours_here[-2][1], "main, which stands before _start in the other file"
    assert starts_in(linked, image.base) == starts_by_llvm(linked)


def starts_in(path: Path, base: int) -> tuple[int, ...]:
    """What LC_FUNCTION_STARTS says, which Zig's linker leaves empty."""
    file, at = FileBytes(path, path.read_bytes()), 32
    while file.unsigned(at, 4, "") != 0x26:
        at += file.unsigned(at + 4, 4, "")
    return function_starts(file.part(file.unsigned(at + 8, 4, ""), file.unsigned(at + 12, 4, ""), ""), base)


def starts_by_llvm(path: Path) -> tuple[int, ...]:
    command = (shutil.which("llvm-objdump") or "", "--macho", "--function-starts", path)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = tuple(int(line, 16) for line in re.findall(r"^([0-9a-f]{16})$", text, re.M))
    assert len(found) > 3
    return found
