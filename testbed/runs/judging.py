"""An unwinder judged at one site of a run, or at all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import tee

from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.verdicts.one import Verdict, first_answers
from testbed.verdicts.trace import judge_trace, verdict_at, verdicts_at

COLUMNS_FROM = 500  # steps; fewer are judged one by one


def judge(run: Run, at: Snapshot | int, said: Backtrace, unwinder: Unwinder | None = None) -> Verdict:
    """The verdict on a backtrace at a snapshot of a run; with the unwinder given, it is held to its assumption."""
    return verdict_at(run.watched, said, unwinder, run.number(at))


def judge_all(run: Run, unwinder: Unwinder, *, natively: bool | None = None) -> Sequence[Verdict]:
    """The verdicts of one unwinder at every step of a run.

    ``natively`` decides between the judge of whole traces, for an unwinder that walks them, and one verdict after the
    other; both say the same. None: whatever is faster for this run alone.
    """
    if natively is None:
        natively = len(run) >= COLUMNS_FROM
    if unwinder.unwind_trace is None:
        return judge_steps(run, unwinder, range(len(run)))
    swept = unwinder.unwind_trace(run.trace)
    if natively:
        return judge_trace(run.watched, swept, unwinder)
    return _verdicts(run, unwinder, range(len(run)), swept)


def judge_steps(run: Run, unwinder: Unwinder, steps: Sequence[int]) -> tuple[Verdict, ...]:
    """The verdicts at some steps of a run, at which an unwinder is asked one after the other."""
    return _verdicts(run, unwinder, steps, (unwinder.unwind(run.trace.snapshot(step)) for step in steps))


def _verdicts(run: Run, unwinder: Unwinder, steps: Sequence[int], said: Iterable[Backtrace]) -> tuple[Verdict, ...]:
    answers, kept = tee(said)
    return tuple(first_answers(zip(verdicts_at(run.watched, answers, unwinder, steps), kept, strict=True)))
