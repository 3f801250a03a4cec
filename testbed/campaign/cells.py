"""Verdicts counted: one strategy on one unit, and its first difference in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from testbed.arch import ARCHES
from testbed.campaign.results import Cell, CountedCause, Difference, Unit
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Limit, Unwinder
from testbed.naming.beside import folded_names
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.verdicts.counts import OUTCOMES, Counts
from testbed.verdicts.one import Verdict, counted
from testbed.verdicts.trace import counts_of

if TYPE_CHECKING:
    from testbed.runs.long import LongRun  # it loads numba


def cell_of(run: Run, unwinder: Unwinder, verdicts: Sequence[Verdict], *, in_words: bool = True) -> Cell:
    """Count one strategy's verdicts at every step of a run. Unless ``in_words``, only what is unexplained is told."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    counts = counts_of(verdicts)
    unexplained = counts.first_step(lambda kind: kind.unexplained)

    def told(step: int) -> Difference | None:
        silent = not in_words and step != unexplained
        return None if silent else difference(run, unwinder, step, said=verdicts[step].said)

    return _cell(unit, unwinder, counts, told)


def cell_of_long(run: LongRun, unwinder: Unwinder, counts: Counts) -> Cell:
    """As `cell_of`, of verdicts that are counted already."""

    def told(step: int) -> Difference:
        piece, window = run.piece(step)
        return difference(piece, unwinder, window.row(step), number=step, said=run.judged(unwinder).said.get(step))

    unit = Unit(run.built.program.name, run.built.arch.name, run.built.recipe.name)
    return _cell(unit, unwinder, counts, told)


def cell_of_steps(run: Run, unwinder: Unwinder, said: Mapping[int, Backtrace], verdicts: Mapping[int, Verdict]) -> Cell:
    """As `cell_of`, of what was said at some steps, and the verdicts on it."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    steps = list(verdicts)

    def told(i: int) -> Difference:
        return difference(run, unwinder, steps[i], said=said[steps[i]])

    return _cell(unit, unwinder, counted(verdicts.values()), told)


def _cell(unit: Unit, unwinder: Unwinder, counts: Counts, tell: Callable[[int], Difference | None]) -> Cell:
    @cache
    def told(step: int) -> Difference | None:
        return tell(step) if step >= 0 else None

    return Cell(
        **vars(counts),
        unit=unit,
        unwinder=unwinder.name,
        causes=_causes(counts, unwinder.limits_on(ARCHES[unit.arch])),
        first=told(counts.first_step(lambda kind: not kind.exact)),
        first_unexplained=told(counts.first_step(lambda kind: kind.unexplained)),
        first_lie=told(counts.first_step(lambda kind: kind.lying)),
    )


def _causes(counts: Counts, limits: Sequence[Limit]) -> tuple[CountedCause, ...]:
    """What was explained, by limit and outcome, in the limits' words; the most frequent first. Of several limits with
    the same mechanism and outcome the first speaks: the others explain nothing more."""
    told = []
    for (mechanism, outcome), steps in counts.shown.items():
        place = next(i for i, li in enumerate(limits) if outcome in li.outcomes and li.mechanism == mechanism)
        told.append((-steps, place, CountedCause(limits[place].because, limits[place].reference, outcome, steps)))
    told.sort(key=lambda each: (*each[:2], OUTCOMES.index(each[2].outcome)))
    return tuple(cause for _, _, cause in told)


def difference(
    run: Run, unwinder: Unwinder, step: int, *, number: int | None = None, said: Backtrace | None = None
) -> Difference:
    """One site that is not exact, in words: the truth, what was said, and why.

    ``number``: what the step is called; ``said``: what the strategy said, where that is known.
    """
    number = step if number is None else number
    snapshot = run.trace.snapshot(step)
    said = said or unwinder.unwind(snapshot)
    verdict = judge(run, snapshot, said, unwinder)
    true = folded_names(run.frame_names(run.truth(step).frames))
    claimed = folded_names(run.frame_names(said.frames))
    end = "and claims the root" if said.stopped is None else f"and stops: {said.stopped.reason}, {run.stop(said)}"
    limit = verdict.explained_by
    where = run.where(snapshot.pc)
    line = run.calls(run.truth(step).frames[0])[0].line
    source = f"{line.name}:{line.line}, " if line is not None and line.line else ""
    return Difference(
        number,
        where,
        verdict.outcome,
        limit.mechanism if limit else None,
        f"at step {number}, {where} ({source}{run.instruction(step)}), the stack is {true}; "
        f"{unwinder.name} says {claimed} {end}: {verdict.outcome.value}.",
        limit.because if limit else run.difference(verdict),
        limit.reference if limit else "",
    )
