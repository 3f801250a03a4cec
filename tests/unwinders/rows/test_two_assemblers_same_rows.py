"""keystone with our own table writers, and clang's assembler: after reading, the same row at every pc."""

from __future__ import annotations

from dataclasses import replace

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.rows import RowTable
from testbed.image import Image
from unwinders.formats.cfi import cfi_table

EVERY = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
UNITS = [
    unit
    for unit in EVERY
    if unit.recipe in ("keystone", "keystone-thumb")
    and replace(unit, recipe=unit.recipe.replace("keystone", "clang-asm")) in EVERY
]


def built(unit: Unit, recipe: str) -> Image:
    return build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[recipe]).image


def said(table: RowTable, pc: int) -> object:
    row = table.at(pc)
    return row and (row.cfa, dict(row.registers), row.return_address, row.signal_frame)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_both_assemblers_give_the_same_row_at_every_pc(unit: Unit) -> None:
    ours, clangs = built(unit, unit.recipe), built(unit, unit.recipe.replace("keystone", "clang-asm"))
    text = ours.sections[".text"]
    assert text.data == clangs.sections[".text"].data
    assert text.address == clangs.sections[".text"].address
    compared = 0
    for section in (".eh_frame", ".debug_frame"):
        assert (section in ours.sections) == (section in clangs.sections)
        if section not in ours.sections:
            continue
        left, right = cfi_table(ours, section), cfi_table(clangs, section)
        for pc in range(text.address - 4, text.address + len(text.data) + 4):
            assert said(left, pc) == said(right, pc), f"{section} at {pc:#x}"
            compared += said(left, pc) is not None
    assert compared > 20, "no rows were compared"
