"""What SFrame and ORC can say: the programs whose tables they express, and rows compared by what they mean."""

from __future__ import annotations

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.build.tables.sframe import ABIS
from testbed.campaign.units import units
from testbed.contract.rows import RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.image import Image
from testbed.words.traits import Trait

WITH_NUMBER = [arch for arch in ARCHES.values() if ABIS[arch.name] is not None]
UNITS = units(PROGRAMS.values(), WITH_NUMBER, RECIPES.values())
WRITTEN = [unit for unit in UNITS if unit.recipe == "keystone"]
# What a compact format cannot express, as a program's header declares; producers then leave out more, or less, than we.
BEYOND = frozenset({Trait.REALIGNED, Trait.INEXPRESSIBLE, Trait.LOST_REGISTER})
EXPRESSIBLE = [
    unit for unit in WRITTEN if not any(s.header.traits & BEYOND for s in PROGRAMS[unit.program].sources.values())
]
Meaning = tuple[Rule | None, Rule | None, Rule | None]


def meaning(row: UnwindRow | None, image: Image) -> Meaning | None:
    """The three things that SFrame knows, as any format's row says them. The outermost frame needs no more."""
    if row is None:
        return None
    arch = image.arch
    ra = row.registers.get(row.return_address, SameValue() if arch.link else None)
    if isinstance(ra, Undefined):
        return None, ra, None
    return row.cfa, ra, row.registers.get(arch.frame_pointers[0], SameValue())


def assert_equal_at_every_pc(image: Image, left: RowTable, right: RowTable, *, roots: bool = True) -> int:
    """How many pcs were compared. Without ``roots``, a producer that cannot say "outermost" is let off there."""
    compared = 0
    text = image.sections[".text"]
    for pc in range(text.address, text.address + len(text.data)):
        here, there = meaning(left.at(pc), image), meaning(right.at(pc), image)
        outermost = (None, Undefined(), None)
        if not roots and outermost in (here, there):
            continue
        assert here == there, f"{pc:#x}: {left.source} {here}, {right.source} {there}"
        compared += here is not None
    return compared
