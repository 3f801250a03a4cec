"""Which units become test vectors: every program on every architecture, by a few recipes that differ in kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from testbed.arch import Arch
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.generate.program import generated_program
from testbed.program.model import Program
from testbed.words.catalogue import matches

# Each pattern for the programs of those patterns: what else is built adds sites, and no kind of frame or table.
_CHOSEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "keystone*": ("*",),
        "clang-O0-fp": ("*",),
        "clang-O2": ("*",),
        "clang-thumb-O2": ("*",),
        "gcc-O2": ("*",),
        "macho-*": ("*",),
        "clang-O2-sframe": ("*",),
        "clang-O2-debug_frame": ("*",),
        "clang-O2-scs": ("*",),
        "clang-O2-*pac": ("*",),
        "clang*-sync": ("*",),
        "clang*-bare": ("*",),
        "clang*-leaf-fp": ("recursion",),
        "clang*-aapcs": ("recursion",),
    }
)
GENERATED = ("gen:1001", "gen:1002", "gen:1004", "gen:1005", "genc:1001", "genc:1002", "genc:1004", "genc:1005")


def with_generated(programs: Mapping[str, Program]) -> dict[str, Program]:
    """The corpus, and a few programs made from seeds, under the names by which the command line knows them."""
    return {**programs, **{name: generated_program(name) for name in GENERATED}}


def chosen_units(programs: Mapping[str, Program], arches: Iterable[Arch]) -> Sequence[Unit]:
    """The units, in catalogue order. A program that none of the chosen recipes builds comes by all that do."""
    found = []
    for named, program in programs.items():
        for arch in arches:
            each = units([program], [arch], RECIPES.values())
            few = [unit for unit in each if _is_chosen(unit)] or each
            found += [Unit(named, unit.arch, unit.recipe) for unit in few]
    return found


def _is_chosen(unit: Unit) -> bool:
    return any(matches(unit.recipe, [recipe]) and matches(unit.program, which) for recipe, which in _CHOSEN.items())
