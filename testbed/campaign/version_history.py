"""Versions of one real unwinder on the same sites: how each fares, and what changed between neighbours.

The sites are the same of all: some instructions of each unit of the score's sample. What a version says is kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from testbed.campaign.cells import Cell, Unit, UnitResult, cell_of_steps
from testbed.campaign.kept_results import answers_at
from testbed.campaign.matrix import all_cells, run_or_why_not
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.run import Run, judge
from testbed.words.outcome import Outcome

# A unit judged at some of its instructions: for tools that take long to answer.
#
# Every instruction that was executed stands for its first visit at which there is one right answer. Of these some are
# taken, in an order that follows from their addresses alone: the same ones in every run, and a larger sample has the
# smaller one in it.


def sampled_steps(run: Run, most: int) -> tuple[int, ...]:
    """At most so many steps of a run, in order: first visits of instructions."""
    plain = np.flatnonzero(~run.watched.transition)
    pcs, first = np.unique(run.trace.pc[plain], return_index=True)
    ranks = (hashlib.sha256(pc.to_bytes(8, "little")).digest() for pc in pcs.tolist())
    ranked = sorted(zip(ranks, plain[first].tolist(), strict=True))
    return tuple(sorted(step for _, step in ranked[:most]))


def cell_at(run: Run, unwinder: Unwinder, steps: Iterable[int]) -> Cell:
    """An unwinder judged at some steps of a run, counted; what a real unwinder says there is kept."""
    said = answers_at(run, unwinder, steps)
    verdicts = {step: judge(run, step, answer, unwinder) for step, answer in said.items()}
    return cell_of_steps(run, unwinder, said, verdicts)


def judge_unit_sample(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], *, most: int
) -> UnitResult:
    """As `testbed.campaign.matrix.judge_unit`, at a sample of steps; never raises for a bad unit."""
    run = run_or_why_not(unit, programs)
    if isinstance(run, UnitResult):
        return run
    steps = sampled_steps(run, most)
    return all_cells(unit, run, unwinders, lambda unwinder: cell_at(run, unwinder, steps))


@dataclass(frozen=True, slots=True)
class VersionedUnit:
    """A unit at some sites: where they are, by step, and by version how each came out; or why there is nothing."""

    unit: Unit
    places: Mapping[int, str] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[int, Outcome]] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChangedSite:
    """A site that two neighbours answer differently."""

    unit: Unit
    step: int
    where: str
    before: Outcome
    after: Outcome

    @property
    def repaired(self) -> bool:
        return self.after is Outcome.EXACT

    @property
    def broke(self) -> bool:
        return self.before is Outcome.EXACT


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """Versions from the oldest on, by the names of their unwinders, and the units that they were asked about."""

    names: tuple[str, ...]
    units: tuple[VersionedUnit, ...]

    def counts(self, name: str, arch: str) -> Counter[Outcome]:
        """How many sites of an architecture came out in which way."""
        return Counter(
            outcome for each in self.units if each.unit.arch == arch for outcome in each.outcomes.get(name, {}).values()
        )

    def changes(self) -> Sequence[tuple[str, str, tuple[ChangedSite, ...]]]:
        """Each two neighbours, and the sites at which they differ."""
        return [(older, newer, tuple(self._between(older, newer))) for older, newer in pairwise(self.names)]

    def _between(self, older: str, newer: str) -> Sequence[ChangedSite]:
        return [
            ChangedSite(each.unit, step, each.places[step], before, each.outcomes[newer][step])
            for each in self.units
            for step, before in each.outcomes.get(older, {}).items()
            if before is not each.outcomes[newer][step]
        ]


def versioned(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], *, most: int
) -> VersionedUnit:
    """One unit, with every failure as a value: this runs in worker processes."""
    run = run_or_why_not(unit, programs)
    if isinstance(run, UnitResult):
        return VersionedUnit(unit, problem=run.skipped or run.failed or "it cannot be run")
    steps = sampled_steps(run, most)
    places = {step: run.where(int(run.trace.pc[step])) for step in steps}
    outcomes = {
        unwinder.name: {
            step: judge(run, step, said, unwinder).outcome for step, said in answers_at(run, unwinder, steps).items()
        }
        for unwinder in unwinders
        if unwinder.applies_to(run.built.image)
    }
    return VersionedUnit(unit, places, outcomes)
