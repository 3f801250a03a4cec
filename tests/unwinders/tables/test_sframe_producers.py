"""SFrame tables of version 2, ours and clang's, and `.eh_frame`: one CFA, return address and frame pointer at every pc.

Producers: our writer, and clang's assembler (x86_64) with lld.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.compile import assemble
from testbed.build.link import assemble_program
from testbed.build.recipes import RECIPES
from testbed.build.targets import CLANG, LLD
from testbed.campaign.results import Unit
from testbed.contract.rows import AtCfa, RegisterPlus, RowTable, SameValue, Undefined, UnwindRow
from testbed.image import Image, read_elf
from testbed.program.model import program_from_text
from tests.unwinders import producers
from tests.unwinders.compact_rows import (
    EXPRESSIBLE,
    UNITS,
    WRITTEN,
    assert_equal_at_every_pc,
    meaning,
)
from unwinders.formats.cfi import cfi_table
from unwinders.formats.sframe import sframe_table

SFRAME_FLAGS = tuple(flag for flag in RECIPES["clang-O2-sframe"].flags if flag.startswith("-Wa,"))
COMPILED = [unit for unit in UNITS if unit.recipe.endswith("-sframe")]

# clang leaves out a function that remembers its state before any rule: a way out before the frame is set up.
REMEMBERED_AT_ENTRY = ("gen_3", "gen_9", "gen_15", "gen_17", "gen_61", "gen_169")


def left_out(image: Image) -> list[tuple[int, int]]:
    """The code of those FDEs of which no row is there: the format cannot say one of them."""
    fdes: dict[str, list[UnwindRow]] = {}
    for row in cfi_table(image, ".eh_frame"):
        fdes.setdefault(row.found_by, []).append(row)
    ranges = [(rows[0].start, rows[-1].end) for rows in fdes.values()]
    table = sframe_table(image)
    return [(start, end) for start, end in ranges if all(table.at(pc) is None for pc in range(start, end))]


def sayable(row: UnwindRow, image: Image) -> bool:
    """True where SFrame version 2 has words for a row of `.eh_frame`."""
    cfa, ra, fp = meaning(row, image) or (None, None, None)
    if isinstance(ra, Undefined):
        return True
    arch = image.arch
    near = isinstance(cfa, RegisterPlus) and cfa.register in (arch.sp, *arch.frame_pointers)
    alone = arch.link is not None and isinstance(ra, SameValue) and isinstance(fp, AtCfa)
    return near and not alone and all(isinstance(rule, AtCfa | SameValue) for rule in (ra, fp))


@pytest.mark.parametrize("unit", WRITTEN, ids=str)
def test_written_rows_are_those_of_eh_frame(unit: Unit) -> None:
    image = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image
    eh_frame, out = cfi_table(image, ".eh_frame"), left_out(image)
    for start, end in out:
        rows = [row for row in eh_frame if start <= row.start < end]
        assert not all(sayable(row, image) for row in rows), f"{start:#x} could have been said"
    said = [row for row in eh_frame if not any(start <= row.start < end for start, end in out)]
    assert assert_equal_at_every_pc(image, sframe_table(image), RowTable(".eh_frame", tuple(said))) > 10


@pytest.mark.parametrize("unit", [unit for unit in EXPRESSIBLE if unit.arch == "x86_64"], ids=str)
def test_clangs_assembler_writes_what_we_write(unit: Unit, tmp_path: Path) -> None:
    """clang does not say that a frame is the outermost one, nor that the frame pointer is lost: see below."""
    arch = ARCHES[unit.arch]
    ours = build(PROGRAMS[unit.program], arch, RECIPES["keystone"]).image
    path = tmp_path / "clang.elf"
    source = PROGRAMS[unit.program].source_for(arch.isas[0])
    assert source is not None
    path.write_bytes(assemble(source, arch, arch.isas[0], SFRAME_FLAGS))
    clangs = read_elf(path)
    assert clangs.sections[".text"].data == ours.sections[".text"].data
    out, clangs_out = left_out(ours), left_out(clangs)
    more = [span for span in clangs_out if span not in out] if unit.program in REMEMBERED_AT_ENTRY else []
    assert bool(more) == (unit.program in REMEMBERED_AT_ENTRY)

    def said_by_both(table: RowTable) -> RowTable:
        rows = (row for row in table if not any(start <= row.start < end for start, end in (*out, *more)))
        return RowTable(".sframe", tuple(rows))

    both = (said_by_both(sframe_table(ours)), said_by_both(sframe_table(clangs)))
    assert assert_equal_at_every_pc(ours, *both, roots=False) > 10


@pytest.mark.parametrize("directive", [".cfi_undefined rip", ".cfi_undefined rbp"])
def test_clang_has_a_row_for_what_the_format_cannot_say_and_we_have_none(directive: str, tmp_path: Path) -> None:
    """LLVM 22 passes over both: its rows say CFA-8, and that the frame pointer is unchanged."""
    arch = ARCHES["x86_64"]
    text = f""".intel_syntax noprefix
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    nop
    {directive}
    nop
    ret
    .cfi_endproc
.size _start, . - _start
"""
    source = program_from_text("t", arch, text).sources[arch.isas[0].name]
    path = tmp_path / "t.elf"
    path.write_bytes(assemble(source, arch, arch.isas[0], SFRAME_FLAGS))
    (clangs,) = sframe_table(read_elf(path))
    assert (clangs.registers["rip"], clangs.registers["rbp"]) == (AtCfa(-8), SameValue())
    path.write_bytes(assemble_program(source, arch, arch.isas[0]))
    ours = sframe_table(read_elf(path)).rows
    lost = "rbp" in directive
    assert [row.registers["rip"] for row in ours] == ([] if lost else [AtCfa(-8), Undefined()])


@pytest.mark.parametrize("unit", COMPILED, ids=str)
def test_compiled_rows_are_those_of_eh_frame(unit: Unit) -> None:
    image = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe]).image
    eh_frame = cfi_table(image, ".eh_frame")
    assert assert_equal_at_every_pc(image, sframe_table(image), eh_frame, roots=False) > 20


def test_lld_joins_the_tables_of_two_objects_and_nobody_finds_the_second(tmp_path: Path) -> None:
    """Why a C program and its ``_start`` are one object in the recipes with SFrame."""
    arch = ARCHES["x86_64"]
    clang = (producers.find_zig(), "clang", "-c", *CLANG[arch.isas[0].name], *SFRAME_FLAGS)
    for name in ("first", "second"):
        text = f".globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n"
        (tmp_path / f"{name}.s").write_text(text, encoding="utf-8")
        producers.run(*clang, f"{name}.s", "-o", f"{name}.o", cwd=tmp_path)
    link = (producers.find_zig(), "ld.lld", "-m", LLD[arch.name], "-e", "first", "first.o", "second.o", "-o", "two.elf")
    producers.run(*link, cwd=tmp_path)
    image = read_elf(tmp_path / "two.elf")
    assert image.sections[".sframe"].data.count(b"\xe2\xde\x02") == 2
    first, second = image.symbol_named("first"), image.symbol_named("second")
    assert first is not None
    assert second is not None
    table = sframe_table(image)
    assert (table.at(first.address) is not None, table.at(second.address)) == (True, None)
