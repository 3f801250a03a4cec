"""A unit judged at some of its instructions: for tools that take long to answer.

Every instruction that was executed stands for its first visit at which there is one right answer. Of these some are
taken, in an order that follows from their addresses alone: the same ones in every run, and a larger sample has the
smaller one in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from testbed.campaign.cells import cell_of_steps
from testbed.campaign.kept_answers import answers_at
from testbed.campaign.matrix import all_cells, run_or_why_not
from testbed.campaign.results import Cell, Unit, UnitResult
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.judging import judge
from testbed.runs.run import Run


def sampled_steps(run: Run, most: int) -> tuple[int, ...]:
    """At most so many steps of a run, in order: first visits of instructions."""
    plain = np.flatnonzero(~run.watched.transition)
    pcs, first = np.unique(run.trace.pc[plain], return_index=True)
    ranked = sorted(zip(pcs.tolist(), plain[first].tolist(), strict=True), key=lambda at: _rank(at[0]))
    return tuple(sorted(step for _, step in ranked[:most]))


def _rank(pc: int) -> bytes:
    return hashlib.sha256(pc.to_bytes(8, "little")).digest()


def cell_at(run: Run, unwinder: Unwinder, steps: Iterable[int]) -> Cell:
    """A strategy judged at some steps of a run, counted; what a real unwinder says there is kept."""
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
