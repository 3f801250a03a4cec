"""Judging a whole trace in columns: the same verdicts, at every site, as one backtrace after the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.errors import ToolchainMissing
from testbed.judge import tally
from testbed.judge_trace import OUTCOMES, Verdicts
from testbed.matrix import units
from testbed.outcome import Outcome
from testbed.run import Run, judge_all, run_program
from testbed.traits import Trait
from testbed.truth.columns import trait_at
from testbed.unwinder import Unwinder
from unwinders import UNWINDERS

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
PART = 7  # of this many units, one is compared unless all are asked for
NATIVE = [unwinder for unwinder in UNWINDERS.values() if unwinder.unwind_trace]


def compared(run: Run, unwinder: Unwinder) -> Verdicts:
    """The verdicts in columns, after each was compared with the one that `testbed.judge` gives."""
    found = judge_all(run, unwinder, natively=True)
    assert isinstance(found, Verdicts)
    expected = judge_all(run, unwinder, natively=False)
    assert len(found) == len(expected) == len(run)
    for step, verdict in enumerate(expected):
        where = f"{run}, {unwinder.name}, step {step}: {verdict}"
        assert OUTCOMES[found.outcome[step]] is verdict.outcome, where
        limit = found.explained[step]
        assert (found.limits[limit] if limit >= 0 else None) == verdict.explained_by, where
        assert found.transition[step] == verdict.transition, where
    assert found.tally() == tally(expected)
    return found


@pytest.mark.parametrize("arch", ARCHES)
def test_at_every_site_the_columns_say_what_the_judge_says(arch: str, request: pytest.FixtureRequest) -> None:
    here = [unit for unit in UNITS if unit.arch == arch]
    outcomes: Counter[Outcome] = Counter()
    for unit in here if request.config.getoption("--every-site") else here[3::PART]:
        try:
            run = run_program(PROGRAMS[unit.program], ARCHES[arch], unit.recipe)
        except ToolchainMissing:
            continue
        if not run.in_columns:  # a signal, or a place that the header says something of: judged step by step
            assert not isinstance(judge_all(run, NATIVE[0], natively=True), Verdicts)
            continue
        for unwinder in NATIVE:
            if unwinder.applies_to(run.built.image):
                outcomes.update(compared(run, unwinder).tally().outcomes)
        _compare_traits(run)
    assert len(outcomes) >= 4, outcomes
    print(arch, {outcome.value: count for outcome, count in outcomes.items()})


def _compare_traits(run: Run) -> None:
    steps = np.arange(len(run))
    found = {trait: trait_at(run.watched, steps, trait) for trait in Trait}
    assert not any(found[trait].any() for trait in Trait if trait.declared)
    for step in steps.tolist():
        assert {trait for trait, holds in found.items() if holds[step]} == run.watched.traits(step), f"{run}: {step}"
