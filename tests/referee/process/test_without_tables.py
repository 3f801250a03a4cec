"""Copies of program files without their unwind tables."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import recipe_named
from testbed.image import Image, read_elf
from testbed.referee.process.without_tables import DWARF, EHABI, TABLES, file_of, strip_tables, without_tables
from testbed.words.errors import ImageError

CELLS = (
    ("leaf_call", "x86_64", "clang-asm", {".eh_frame", ".eh_frame_hdr"}),
    ("leaf_call", "arm64", "clang-asm", {".eh_frame", ".eh_frame_hdr"}),
    ("leaf_call", "arm32", "keystone", {".debug_frame", ".ARM.exidx"}),
    ("struct_return", "arm32", "clang-thumb-O2", {".debug_frame", ".ARM.exidx"}),
    ("struct_return", "x86_64", "clang-O2", {".eh_frame", ".eh_frame_hdr"}),
)


def image_of(program: str, arch: str, recipe: str) -> Image:
    chosen = PROGRAMS[program]
    return build(chosen, ARCHES[arch], recipe_named(recipe, chosen, ARCHES[arch])).image


def readelf(path: Path, *options: str) -> str:
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf: apt install binutils")
    done = subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True)
    assert "rror" not in done.stderr and "arning" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(("program", "arch", "recipe", "tables"), CELLS)
def test_tables_go_and_symbols_and_code_stay(program: str, arch: str, recipe: str, tables: set[str]) -> None:
    image = image_of(program, arch, recipe)
    assert tables <= image.sections.keys()
    path = without_tables(image.path)
    assert without_tables(image.path) == path
    copy = read_elf(path)
    assert not copy.sections.keys() & TABLES
    assert image.sections.keys() - copy.sections.keys() >= tables
    assert copy.symbols == image.symbols and copy.isa_marks == image.isa_marks and copy.entry == image.entry
    for ours, theirs in zip(copy.segments, image.segments, strict=True):
        assert (ours.address, ours.size) == (theirs.address, theirs.size)
        assert not ours.executable or ours.data == theirs.data
    for name, section in image.sections.items():
        if name in tables:
            assert any(section.data) and not any(path.read_bytes()[section.offset :][: len(section.data)])
        elif name in copy.sections:
            assert copy.sections[name] == section


@pytest.mark.parametrize(("program", "arch", "recipe", "tables"), CELLS)
def test_readelf_sees_the_same_file_without_them(program: str, arch: str, recipe: str, tables: set[str]) -> None:
    image = image_of(program, arch, recipe)
    path = without_tables(image.path)
    before, after = readelf(image.path, "-S", "-l"), readelf(path, "-S", "-l")
    for name in tables:
        assert re.search(rf"\] {re.escape(name)} ", before)
        assert not re.search(rf"\] {re.escape(name)} ", after)
    assert not re.search(r"^\s+(GNU_EH_FRAME|EXIDX)", after, re.M)
    assert re.search(r"^\s+(GNU_EH_FRAME|EXIDX)", before, re.M)
    assert readelf(path, "--debug-dump=frames").strip() == ""
    assert "FDE" in readelf(image.path, "--debug-dump=frames")
    assert symbols_by_section_name(path) == symbols_by_section_name(image.path)


def symbols_by_section_name(path: Path) -> list[str]:
    return re.findall(r"^\s*\d+: .*$", readelf(path, "-s"), re.M)


def test_only_what_is_asked_for_goes() -> None:
    image = image_of("leaf_call", "arm32", "keystone")
    ehabi_only = read_elf(without_tables(image.path, removed=DWARF))
    assert ".ARM.exidx" in ehabi_only.sections and ".debug_frame" not in ehabi_only.sections
    dwarf_only = read_elf(without_tables(image.path, removed=EHABI))
    assert ".debug_frame" in dwarf_only.sections and ".ARM.exidx" not in dwarf_only.sections
    everything = without_tables(image.path, removed=frozenset())
    assert everything.read_bytes() == image.path.read_bytes()


def test_a_file_that_is_no_elf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("not a program")
    with pytest.raises(ImageError, match=r"text: at offset 0x0: not a little-endian ELF file"):
        without_tables(path)
    with pytest.raises(ImageError, match="absent"):
        without_tables(tmp_path / "absent")


def test_a_cut_file_is_an_image_error_wherever_it_is_cut() -> None:
    image = image_of("leaf_call", "x86_64", "clang-asm")
    whole = image.path.read_bytes()
    refused = 0
    for size in range(0, len(whole), 7):
        try:
            assert len(strip_tables(image.path, whole[:size], TABLES)) == size
        except ImageError:
            refused += 1
    assert refused > 100  # the section headers are the last part of the file


def test_an_image_without_its_file_gets_one(tmp_path: Path) -> None:
    image = image_of("leaf_call", "arm64", "clang-asm")
    assert file_of(image) == image.path
    gone = read_elf(tmp_path / "gone.elf", content=image.content)
    copy = file_of(gone)
    assert copy != gone.path and copy.read_bytes() == image.content
    other = tmp_path / "gone.elf"
    other.write_bytes(b"another file took its place")
    assert file_of(gone) == copy
