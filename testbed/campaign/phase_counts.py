"""Verdicts counted by phase: what a score is made of. One unit, judged for some strategies.

A strategy that does not exist for a unit's file (it needs a section that is not there) has nothing to say there, which
is an honest stop at every site: so all who exist for an architecture are compared at the same sites.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.judging import judge_all
from testbed.runs.run import Run
from testbed.truth.phases import PHASES, phases
from testbed.verdicts.counts import Counts, SiteKind
from testbed.verdicts.trace import counts_of
from testbed.words.errors import TestbedError, ToolchainMissing
from testbed.words.outcome import Outcome

ByPhase = tuple[int, ...]
"""A number for each of PHASES."""


@dataclass(frozen=True, slots=True)
class Miss:
    """The first site of a unit at which a strategy is not exact: the step, where it is, the outcome."""

    step: int
    where: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit judged: ``sites`` by phase, the counts of each strategy, its first lie and its first stop.

    Or why there is nothing: ``skipped`` (a tool is missing) or ``failed``.
    """

    unit: Unit
    sites: ByPhase = (0,) * len(PHASES)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    lies: Mapping[str, Miss] = field(default_factory=dict)
    stops: Mapping[str, Miss] = field(default_factory=dict)
    skipped: str = ""
    failed: str = ""


def score_unit(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], *, natively: bool | None = None
) -> ScoredUnit:
    """Judge a unit, with every failure as a value: this runs in worker processes."""
    try:
        run = run_unit(unit, programs)
        return _scored(unit, run, unwinders, natively)
    except ToolchainMissing as missing:
        return ScoredUnit(unit, skipped=str(missing))
    except TestbedError as error:
        return ScoredUnit(unit, failed=str(error))
    except Exception:  # a bug of a strategy: it is this unit's, the score goes on
        return ScoredUnit(unit, failed=traceback.format_exc())


def _scored(unit: Unit, run: Run, unwinders: Sequence[Unwinder], natively: bool | None) -> ScoredUnit:
    phase, transition = phases(run.watched), run.watched.transition
    sites = tuple(np.bincount(phase[~transition], minlength=len(PHASES)).tolist())
    counts: dict[str, Counts] = {}
    lies: dict[str, Miss] = {}
    stops: dict[str, Miss] = {}
    for unwinder in unwinders:
        name = unwinder.name
        if not unwinder.applies_to(run.built.image):
            counts[name] = all_the_same(Outcome.REFUSED, sites)
            continue
        verdicts = judge_all(run, unwinder, natively=natively)
        counts[name] = found = counts_of(verdicts, phase)
        for misses, step in (
            (lies, found.first_step(lambda kind: kind.lying)),
            (stops, found.first_step(lambda kind: kind.stopped)),
        ):
            if step >= 0:
                misses[name] = Miss(step, run.where(int(run.trace.pc[step])), verdicts[step].outcome)
    return ScoredUnit(unit, sites, counts, lies, stops)


def all_the_same(outcome: Outcome, sites: ByPhase) -> Counts:
    """So many sites of each phase, all of one outcome."""
    return Counts(
        {SiteKind(outcome, phase=phase): number for phase, number in zip(PHASES, sites, strict=True) if number}
    )
