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
from testbed.verdicts.one import Tally, Verdict, tally
from testbed.verdicts.trace import Verdicts
from testbed.words.outcome import Outcome

if TYPE_CHECKING:
    from testbed.runs.long import LongRun  # it loads numba


def tally_of(verdicts: Sequence[Verdict]) -> Tally:
    """The verdicts on all steps, counted."""
    return verdicts.tally() if isinstance(verdicts, Verdicts) else tally(verdicts)


def cell_of(run: Run, unwinder: Unwinder, verdicts: Sequence[Verdict], *, in_words: bool = True) -> Cell:
    """Count one strategy's verdicts at every step of a run. Unless ``in_words``, only what is unexplained is told."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    counted = tally_of(verdicts)
    silent = frozenset[int]() if in_words else {counted.first, counted.first_lie} - {counted.first_unexplained}

    def told(step: int) -> Difference | None:
        return None if step in silent else difference(run, unwinder, step, said=counted.said.get(step))

    return _cell(unit, unwinder, counted, told)


def cell_of_long(run: LongRun, unwinder: Unwinder, counted: Tally) -> Cell:
    """As `cell_of`, of verdicts that are counted already."""

    def told(step: int) -> Difference:
        piece, window = run.piece(step)
        return difference(piece, unwinder, window.row(step), number=step, said=counted.said.get(step))

    unit = Unit(run.built.program.name, run.built.arch.name, run.built.recipe.name)
    return _cell(unit, unwinder, counted, told)


def cell_of_steps(run: Run, unwinder: Unwinder, said: Mapping[int, Backtrace], verdicts: Mapping[int, Verdict]) -> Cell:
    """As `cell_of`, of what was said at some steps, and the verdicts on it."""
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    steps = list(verdicts)

    def told(i: int) -> Difference:
        return difference(run, unwinder, steps[i], said=said[steps[i]])

    return _cell(unit, unwinder, tally(verdicts.values()), told)


def _cell(unit: Unit, unwinder: Unwinder, counted: Tally, tell: Callable[[int], Difference | None]) -> Cell:
    @cache
    def told(step: int) -> Difference | None:
        return tell(step) if step >= 0 else None

    return Cell(
        unit=unit,
        unwinder=unwinder.name,
        sites=counted.sites,
        outcomes=counted.outcomes,
        explained=counted.explained,
        unexplained=counted.unexplained,
        transition=counted.transition,
        shown=counted.shown,
        causes=_causes(counted, unwinder.limits_on(ARCHES[unit.arch])),
        first=told(counted.first),
        first_unexplained=told(counted.first_unexplained),
        first_lie=told(counted.first_lie),
        callers=counted.callers,
    )


def _causes(counted: Tally, limits: Sequence[Limit]) -> tuple[CountedCause, ...]:
    """What was explained, by limit and outcome, in the limits' words; the most frequent first. Of several limits with
    the same mechanism and outcome the first speaks: the others explain nothing more."""
    told = []
    for (mechanism, outcome), steps in counted.shown.items():
        place = next(i for i, li in enumerate(limits) if outcome in li.outcomes and li.mechanism == mechanism)
        told.append((-steps, place, CountedCause(limits[place].because, limits[place].reference, outcome, steps)))
    order = list(Outcome)
    told.sort(key=lambda each: (*each[:2], order.index(each[2].outcome)))
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
