"""Golden counts of the real unwinders: none may fall from right to wrong unseen.

As for our strategies (`tests.campaign.test_matrix`), over fewer units: the files of `tests.golden.REFEREES`. A tool of
another version than the one that was counted is not compared.
"""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Cell, Unit
from testbed.campaign.sampled import cell_at
from testbed.campaign.units import run_unit, units
from testbed.contract.unwinder import Unwinder
from testbed.referee import REFEREES
from testbed.words.errors import ToolchainMissing
from tests.golden import REFEREES as GOLDEN
from tests.golden import UPDATE_REFEREES, Counts, counted, of_unit, tools_of_set, write_program, write_tools
from tests.referee.versions import version

# Hand-written and compiled; leaves, tail calls, signals; tables that are wrong and missing; all formats.
PROGRAMS_COUNTED = (
    "leaf_call",
    "tail_call",
    "late_push_wrong",
    "no_table",
    "signal",
    "callee_pops",
    "inlined_call",
    "struct_return",
)
QUICK = PROGRAMS_COUNTED[:2]  # the others take minutes where nothing is kept yet: pytest --everything
RECIPES_COUNTED = ("keystone", "keystone-thumb", "clang-O0", "clang-thumb-O2", "macho-O2", "macho-O2-dwarf")
UNITS = units(
    [PROGRAMS[name] for name in PROGRAMS_COUNTED], ARCHES.values(), [RECIPES[name] for name in RECIPES_COUNTED]
)


def strategies() -> dict[str, Unwinder]:
    """The strategies of the tools that are installed, by name."""
    return {
        unwinder.name: unwinder
        for referee in REFEREES.values()
        if referee.find() is not None
        for unwinder in referee.unwinders
    }


def cells(unit: Unit) -> dict[str, Cell]:
    """Every installed tool judged at every step of a unit: what it says is kept, and asked for anew when it changes."""
    try:
        run = run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    asked = {name: each for name, each in strategies().items() if each.applies_to(run.built.image)}
    return {name: cell_at(run, each, range(len(run))) for name, each in asked.items()}


@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.everything]) for name in PROGRAMS_COUNTED],
)
def test_a_real_unwinder_is_right_where_it_was(program: str, request: pytest.FixtureRequest) -> None:
    planned = [unit for unit in UNITS if unit.program == program]
    judged = {unit: cells(unit) for unit in planned}
    for cell in (cell for of_one in judged.values() for cell in of_one.values()):
        assert cell.sites > 0, cell
    tools = tools_of_set(GOLDEN)
    here = {name: version(each) for name, each in strategies().items()}
    if request.config.getoption("--update-golden"):
        now: dict[Unit, dict[str, Counts]] = {
            unit: {**of_unit(GOLDEN, unit), **{name: counted(cell) for name, cell in of_one.items()}}
            for unit, of_one in judged.items()
        }
        write_program(GOLDEN, program, {unit: dict(sorted(counts.items())) for unit, counts in now.items()})
        write_tools(GOLDEN, dict(sorted({**tools, **here}.items())))
        return
    same = {name for name, told in here.items() if tools.get(name) == told}
    compared = 0
    for unit, of_one in judged.items():
        for name in same & of_unit(GOLDEN, unit).keys() | same & of_one.keys():
            assert name in of_one and name in of_unit(GOLDEN, unit), f"{unit}-{name}: {UPDATE_REFEREES}"
            assert counted(of_one[name]) == of_unit(GOLDEN, unit)[name], f"{unit}-{name}: {UPDATE_REFEREES}"
            compared += 1
    if not compared:
        pytest.skip(f"the golden counts are of {tools}, here are {here}")


def test_every_real_unwinder_is_counted() -> None:
    there = {name for unit in UNITS for name in of_unit(GOLDEN, unit)}
    assert there == {unwinder.name for referee in REFEREES.values() for unwinder in referee.unwinders}
    assert there == tools_of_set(GOLDEN).keys()
