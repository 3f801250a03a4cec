"""keystone with our own writers, and clang with lld: two ways that share nothing must give the same program."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, recipes_for
from testbed.program.model import program_from_text
from testbed.words.errors import ToolchainMissing
from tests.build.snippets import SNIPPETS

PAIRS = {"keystone": "clang-asm", "keystone-thumb": "clang-asm-thumb"}
readelf = pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is missing: apt-get install binutils")
gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is missing: apt-get install gdb")


def cells() -> Iterator[Any]:
    for name, (arch_name, isa, text) in SNIPPETS.items():
        program = program_from_text(f"snippet_{name}", ARCHES[arch_name], text, isa=isa)
        recipe = "keystone-thumb" if isa == "thumb" else "keystone"
        yield pytest.param((program, ARCHES[arch_name], recipe), id=f"snippet-{name}")
    for program in PROGRAMS.values():
        for arch in ARCHES.values():
            names = [recipe.name for recipe in recipes_for(program, arch)]
            for name in (name for name in names if PAIRS.get(name) in names):
                yield pytest.param((program, arch, name), id=f"{program.name}-{arch}-{name}")


@pytest.fixture(params=cells())
def pair(request: pytest.FixtureRequest) -> tuple[Built, Built]:
    program, arch, recipe = request.param
    try:
        return build(program, arch, RECIPES[recipe]), build(program, arch, RECIPES[PAIRS[recipe]])
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


def printed(built: Built, *options: str) -> str:
    done = subprocess.run(["readelf", "-W", *options, str(built.path)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def entries(text: str) -> list[str]:
    """The CIEs and FDEs of a readelf listing, without where in the section they stand, in order."""
    text = re.sub(r"(?m)^[0-9a-f]{8} ([0-9a-f]+) [0-9a-f]+ |cie=[0-9a-f]+", r"\1 ", text)
    return [re.sub(r"^[0-9a-f]+", "", part).strip() for part in text.split("\n\n") if "pc=" in part or "CIE" in part]


def test_the_code_is_the_same_byte_for_byte(pair: tuple[Built, Built]) -> None:
    ours, clangs = pair
    assert ours.image.sections[".text"].data == clangs.image.sections[".text"].data
    assert ours.image.entry == clangs.image.entry


def test_symbols_and_mapping_symbols_are_the_same(pair: tuple[Built, Built]) -> None:
    ours, clangs = pair
    # clang leaves a nameless ".L0 " of its own in some files.
    assert ours.image.symbols == tuple(s for s in clangs.image.symbols if not s.name.startswith(".L"))
    assert [s for s in ours.image.symbols if s.is_function]
    assert ours.image.isa_marks == clangs.image.isa_marks


@readelf
def test_call_frame_instructions_are_the_same(pair: tuple[Built, Built]) -> None:
    ours, clangs = (sorted(entries(printed(built, "--debug-dump=frames"))) for built in pair)
    assert ours == clangs
    assert len(ours) > 1


@readelf
def test_readelf_interprets_the_same_rows(pair: tuple[Built, Built]) -> None:
    ours, clangs = (sorted(entries(printed(built, "--debug-dump=frames-interp"))) for built in pair)
    assert ours == clangs
    assert any("rip" in entry or "CFA" in entry for entry in ours)


@readelf
def test_exception_tables_are_the_same(pair: tuple[Built, Built]) -> None:
    if ".ARM.exidx" not in pair[1].image.sections:
        assert ".ARM.exidx" not in pair[0].image.sections
        return
    ours, clangs = (re.sub(r"@0x[0-9a-f]+", "@", printed(built, "-u")).partition("contains")[2] for built in pair)
    assert ours == clangs
    sizes = [len(section.data) if section else 0 for b in pair if [section := b.image.sections.get(".ARM.extab")]]
    assert sizes[0] == sizes[1]


@readelf
def test_readelf_finds_nothing_to_warn_of(pair: tuple[Built, Built]) -> None:
    said = printed(pair[0], "-a")
    assert "arning" not in said
    assert "PT_LOAD" in said or "LOAD" in said


@readelf
def test_the_search_table_lists_every_entry_sorted(pair: tuple[Built, Built]) -> None:
    ours = pair[0].image
    if ".eh_frame_hdr" not in ours.sections:
        assert ".eh_frame" not in ours.sections
        return
    header = ours.sections[".eh_frame_hdr"]
    words = [int.from_bytes(header.data[i : i + 4], "little", signed=True) for i in range(4, len(header.data), 4)]
    assert header.data[:4] == bytes([1, 0x1B, 0x03, 0x3B])
    assert header.address + 4 + words[0] == ours.sections[".eh_frame"].address
    starts = [header.address + word for word in words[2::2]]
    assert len(starts) == words[1]
    listed = re.findall(r"pc=0*([0-9a-f]+)\.\.", printed(pair[0], "--debug-dump=frames").partition(".debug_frame")[0])
    assert starts == sorted(int(pc, 16) for pc in listed)
    frame = ours.sections[".eh_frame"]
    for start, entry in zip(starts, words[3::2], strict=True):
        at = header.address + entry - frame.address
        distance = int.from_bytes(frame.data[at + 8 : at + 12], "little", signed=True)
        assert frame.address + at + 8 + distance == start


@gdb
def test_gdb_reads_the_file(tmp_path: Path) -> None:
    arch_name, isa, text = SNIPPETS["x86_64"]
    built = build(
        program_from_text("snippet_x86_64", ARCHES[arch_name], text, isa=isa), ARCHES[arch_name], RECIPES["keystone"]
    )
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", "disassemble f", str(built.path)], capture_output=True, text=True, check=True
    )
    assert "Dump of assembler code for function f" in done.stdout
    assert "warning" not in done.stderr.lower()
