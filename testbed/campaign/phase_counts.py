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
from testbed.verdicts.one import Verdict
from testbed.verdicts.trace import OUTCOMES, Verdicts
from testbed.words.errors import TestbedError, ToolchainMissing
from testbed.words.outcome import Outcome

ByPhase = tuple[int, ...]
"""A number for each of PHASES."""
NONE: ByPhase = (0,) * len(PHASES)


@dataclass(frozen=True, slots=True)
class PhaseCounts:
    """Of so many ``sites`` so many are ``exact``, and at so many it ``stopped`` honestly; at the others it lies.

    ``dead`` of the stops are crashes and hangs. Steps in transition are no sites.
    """

    sites: ByPhase = NONE
    exact: ByPhase = NONE
    stopped: ByPhase = NONE
    dead: ByPhase = NONE

    @property
    def lying(self) -> ByPhase:
        each = zip(self.sites, self.exact, self.stopped, strict=True)
        return tuple(sites - exact - stopped for sites, exact, stopped in each)

    def __add__(self, other: PhaseCounts) -> PhaseCounts:
        return PhaseCounts(
            _sum(self.sites, other.sites),
            _sum(self.exact, other.exact),
            _sum(self.stopped, other.stopped),
            _sum(self.dead, other.dead),
        )


def _sum(one: ByPhase, other: ByPhase) -> ByPhase:
    return tuple(a + b for a, b in zip(one, other, strict=True))


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
    sites: ByPhase = NONE
    counts: Mapping[str, PhaseCounts] = field(default_factory=dict)
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
    phase, counted = phases(run.watched), ~run.watched.transition
    sites = tuple(int(((phase == i) & counted).sum()) for i in range(len(PHASES)))
    counts: dict[str, PhaseCounts] = {}
    lies: dict[str, Miss] = {}
    stops: dict[str, Miss] = {}
    for unwinder in unwinders:
        if not unwinder.applies_to(run.built.image):
            counts[unwinder.name] = PhaseCounts(sites, stopped=sites)
            continue
        outcome = outcomes_of(judge_all(run, unwinder, natively=natively))
        by_kind = {kind: (outcome == i) & counted for i, kind in enumerate(OUTCOMES)}
        exact = by_kind[Outcome.EXACT]
        dead = by_kind[Outcome.CRASHED] | by_kind[Outcome.HUNG]
        stopped = by_kind[Outcome.REFUSED] | by_kind[Outcome.STOPPED] | dead
        each = (tuple(int(where[phase == i].sum()) for i in range(len(PHASES))) for where in (exact, stopped, dead))
        counts[unwinder.name] = PhaseCounts(sites, *each)
        for found, where in ((lies, counted & ~exact & ~stopped), (stops, stopped)):
            if where.any():
                step = int(np.argmax(where))
                place = run.where(int(run.trace.pc[step]))
                found[unwinder.name] = Miss(step, place, OUTCOMES[int(outcome[step])])
    return ScoredUnit(unit, sites, counts, lies, stops)


def outcomes_of(verdicts: Sequence[Verdict]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The outcome of every step, as an index of OUTCOMES."""
    if isinstance(verdicts, Verdicts):
        return verdicts.outcome
    return np.fromiter((OUTCOMES.index(verdict.outcome) for verdict in verdicts), np.uint8, len(verdicts))
