"""Our interpreted rows equal readelf's, row by row, in every file that the corpus builds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES, Tool
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from tests.unwinders.readelf_rows import Row, our_rows, readelf_rows

# Of entries that overlap readelf shows all, and the first one holds.
OVERLAP = "overlap_wrong"
UNITS = [
    unit
    for unit in units([p for p in PROGRAMS.values() if p.name != OVERLAP], ARCHES.values(), RECIPES.values())
    if RECIPES[unit.recipe].tool is not Tool.CLANG_MACH_O  # no file for readelf
]


def named(row: Row) -> Row:
    """Without the vector registers of x86-64, which another convention may save and the System V ABI does not keep."""
    return replace(row, rules={name: rule for name, rule in row.rules.items() if not name.startswith("xmm")})


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_rows_equal_readelf(unit: Unit) -> None:
    built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
    sections = [name for name in (".eh_frame", ".debug_frame") if name in built.image.sections]
    assert sections, "this file has no call frame information at all"
    for section in sections:
        expected = [named(row) for row in readelf_rows(built.path, section)]
        assert expected, f"readelf shows no rows in {section}"
        assert our_rows(built.image, section) == expected
