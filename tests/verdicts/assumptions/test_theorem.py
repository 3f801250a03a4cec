"""Theorem, converse and foretelling, by technique and architecture, at sites of the whole corpus.

``pytest --update-golden tests/verdicts/assumptions/test_theorem.py`` writes the counts anew; those of GCC's recipes are
not in them, since they change with its version. All sites of all programs: ``pytest --everything`` with this file.
"""

from __future__ import annotations

from collections import Counter

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import run_unit, units
from testbed.campaign.results import Unit
from testbed.verdicts.assumptions.along import Accord
from testbed.words.errors import ToolchainMissing
from tests.golden import OURS
from tests.verdicts.assumptions.accords import beside, evenly, table
from unwinders import UNWINDERS

GOLDEN = OURS.folder / "assumptions.txt"
UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
PART, SITES = 11, 24  # of so many units one, and of it so many sites


def test_theorem_converse_and_foretelling(request: pytest.FixtureRequest) -> None:
    counts: Counter[tuple[str, str, Accord]] = Counter()
    for unit in [each for each in UNITS if not RECIPES[each.recipe].tool.gnu][::PART]:
        run = run_unit(unit, PROGRAMS)
        for judged in beside(run, UNWINDERS.values(), evenly(run, SITES)):
            assert not judged.accord.unexplained, judged.told(run)
            if judged.failed is not None:
                assert judged.failed.clause in UNWINDERS[judged.unwinder].assumption.clauses, judged.told(run)
            counts[judged.unwinder, unit.arch, judged.accord] += 1
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(table(counts), encoding="utf-8")
    assert table(counts) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.everything
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_at_every_site(unit: Unit) -> None:
    try:
        run = run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    for judged in beside(run, UNWINDERS.values(), range(len(run))):
        assert judged.accord in (Accord.HOLDS, Accord.FAILS, Accord.OPEN), judged.told(run)
