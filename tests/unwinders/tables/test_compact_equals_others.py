"""Our reading of real `__unwind_info` sections is LLVM's reading of the bytes, and symbolic's of what they mean."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.compile import find_zig
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.build.targets import MACH_O
from testbed.contract.rows import AtCfa, RegisterPlus, SameValue, UnwindRow
from testbed.image import Image, read_image
from testbed.image.file_bytes import FileBytes
from testbed.image.macho import function_starts
from unwinders.formats.compact_unwind import SECTION, CompactTable, Encoded, compact_table

BUILT = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in PROGRAMS.values()
    for arch in ARCHES.values()
    for recipe in recipes_for(program, arch)
    if recipe.tool is Tool.CLANG_MACH_O
]
INDIRECT, FRAMELESS = 3, 2  # of x86_64 the one, of arm64 the other
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


# symbolic: what the encodings mean, as Breakpad's STACK CFI lines


@pytest.fixture(scope="module")
def symbolic() -> ModuleType:
    cfi: ModuleType = pytest.importorskip("symbolic.cfi", reason="needs the package symbolic: pip install symbolic")
    return cfi


def said_by_symbolic(cfi: ModuleType, path: Path) -> list[tuple[int, int, str]]:
    """(start, end, rules) of the lines that begin a function; offsets from the image's base."""
    from symbolic.debuginfo import Archive

    item = next(iter(Archive.open(str(path)).iter_objects()))
    text = cfi.CfiCache.from_object(item).open_stream().read().partition(b"STACK CFI INIT ")
    lines = (text[1] + text[2]).decode().splitlines()
    found = [re.match(r"STACK CFI INIT ([0-9a-f]+) ([0-9a-f]+) (.*)", line) for line in lines]
    return [(int(m[1], 16), int(m[1], 16) + int(m[2], 16), m[3].strip()) for m in found if m]


def in_breakpads_words(row: UnwindRow, image: Image) -> str:
    """A row of ours as a STACK CFI line: registers sorted, ``$`` before x86_64's."""
    prefix = "$" if image.arch.link is None else ""
    assert isinstance(row.cfa, RegisterPlus)
    rules = {".cfa": f"{prefix}{row.cfa.register} {row.cfa.offset} +"}
    return_address = row.registers.get(row.return_address, SameValue())
    rules[".ra"] = f"{row.return_address} 0 +" if isinstance(return_address, SameValue) else word(return_address)
    rules |= {f"{prefix}{name}": word(rule) for name, rule in row.registers.items() if name != row.return_address}
    return " ".join(f"{name}: {rules[name]}" for name in sorted(rules))


def word(rule: object) -> str:
    assert isinstance(rule, AtCfa)
    return f".cfa {rule.offset} + ^"


def in_order(line: str) -> str:
    parts = re.findall(r"(\S+): (.*?)(?= \S+:|$)", line)
    return " ".join(f"{name}: {rule}" for name, rule in sorted(parts))


def beyond_symbolic(encoding: int, image: Image) -> bool:
    mode = encoding >> 24 & 0xF
    return mode == INDIRECT if image.arch.link is None else mode == FRAMELESS and bool(encoding & 0xF1F)


@pytest.mark.parametrize(("program", "arch", "recipe"), BUILT)
def test_every_encoding_means_what_symbolic_says(symbolic: ModuleType, program: str, arch: str, recipe: str) -> None:
    image = built(program, arch, recipe)
    theirs = said_by_symbolic(symbolic, image.path)
    table = compact_table(image)
    # symbolic 13.9 does not read the code of an x86_64 function, so it knows no size there; and it forgets the
    # registers that a frameless arm64 function saved. The truth of our runs covers both.
    entries = entries_of(table)
    left_out = {entry.start for entry in entries if beyond_symbolic(entry.encoding, image)}
    compact = [row for row in table.all_rows() if row.found_by.startswith(SECTION) and row.start not in left_out]
    for row in compact:
        line = next((rules for start, end, rules in theirs if start <= row.start - image.base < end), None)
        assert line is not None, hex(row.start)
        assert in_order(line) == in_breakpads_words(row, image), hex(row.start)
    assert compact or recipe.endswith("dwarf")
