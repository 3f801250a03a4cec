"""The sample of units that a score takes unless it is asked for everything: each trap, and what compilers make.

Everybody who is known was asked about the sample as it was then; a card takes that one, from the file of known scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from testbed.arch import Arch
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.program.model import Program

# Compiled programs whose frames differ in kind: a structure in memory, calls at a function's end, tail calls.
COMPILED = ("struct_return", "noreturn_last_call", "tail_chain")
COMPILED_BY = ("clang-O2", "clang-O0-fp", "clang-thumb-O2", "gcc-O2")


def sample_units(programs: Mapping[str, Program], arches: Iterable[Arch]) -> Sequence[Unit]:
    """For each architecture and trap the first unit of the first program that shows it; and some compiled programs."""
    chosen: dict[Unit, None] = {}
    for arch in arches:
        covered: set[int] = set()
        for name, program in programs.items():
            there = units([program], [arch], RECIPES.values())
            shown = traps_of(program)
            if there and not shown <= covered:
                covered |= shown
                chosen[there[0]] = None
            if name in COMPILED:
                chosen |= {unit: None for unit in there if unit.recipe in COMPILED_BY}
    return tuple(chosen)


def traps_of(program: Program) -> set[int]:
    """The numbers of the traps that a program shows."""
    return {trap.number for source in program.sources.values() for trap in source.header.traps}
