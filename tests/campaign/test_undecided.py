"""The steps of the corpus of which no effect tells whose they are: a list that may only shrink.

tests/golden/undecided.txt has a line per unit: its steps, from and to. `pytest --update-golden` takes steps out of it,
and never puts one in: a rule that leaves more undecided is worse than what was there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit
from testbed.words.errors import ToolchainMissing
from tests.golden import STRATEGIES, all_cells

LIST = Path(__file__).parents[1] / "golden" / "undecided.txt"
UPDATE = f"pytest --update-golden {Path(*Path(__file__).parts[-3:])}"


def listed() -> dict[Unit, frozenset[int]]:
    """The steps in the list, by unit."""
    found = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        program, arch, recipe, *stretches = line.split()
        spans = [tuple(map(int, stretch.split("-"))) for stretch in stretches]
        found[Unit(program, arch, recipe)] = frozenset(step for first, last in spans for step in range(first, last + 1))
    return found


def line_of(unit: Unit, steps: frozenset[int]) -> str:
    ends = [step for step in sorted(steps) if step + 1 not in steps]
    begins = [step for step in sorted(steps) if step - 1 not in steps]
    stretches = " ".join(f"{first}-{last}" for first, last in zip(begins, ends, strict=True))
    return f"{unit.program} {unit.arch} {unit.recipe} {stretches}\n"


@pytest.mark.parametrize("unit", listed(), ids=str)
def test_no_step_is_undecided_that_is_not_in_the_list(unit: Unit, request: pytest.FixtureRequest) -> None:
    try:
        undecided = frozenset(np.flatnonzero(run_unit(unit, PROGRAMS).watched.undecided).tolist())
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    before = listed()
    assert undecided <= before[unit]
    if request.config.getoption("--update-golden"):
        after = {**before, unit: undecided}
        LIST.write_text("".join(line_of(unit, steps) for unit, steps in after.items() if steps), encoding="utf-8")
    assert undecided == listed().get(unit, frozenset()), f"fewer steps are undecided: {UPDATE}"


def test_no_other_unit_has_undecided_steps() -> None:
    """Each cell of the matrix counts them, and is held to its golden counts."""
    counts = {unit: counts.get("undecided", 0) for unit, _, counts in all_cells(STRATEGIES)}
    assert {unit: number for unit, number in counts.items() if number} == {
        unit: len(steps) for unit, steps in listed().items()
    }


def test_the_list_is_in_stretches() -> None:
    unit = Unit("a", "b", "c")
    assert line_of(unit, frozenset({1, 2, 3, 7, 9, 10})) == "a b c 1-3 7-7 9-10\n"
    assert all(line_of(unit, steps).split()[3:] for unit, steps in listed().items())
