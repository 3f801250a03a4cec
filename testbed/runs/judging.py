"""A strategy judged at one site of a run, or at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.verdicts.one import Verdict, judge_backtrace
from testbed.verdicts.trace import judge_trace

# Loading the native walk and judge takes as long as judging this many steps one after the other.
NATIVE_FROM = 10_000


def judge(run: Run, at: Snapshot | int, said: Backtrace, unwinder: Unwinder | None = None) -> Verdict:
    """The verdict on a backtrace at a snapshot of a run; with the strategy given, its limits explain."""
    step = run.number(at)
    return judge_backtrace(
        run.arch,
        run.truth(step),
        said,
        traits=cache(lambda frame: run.lazy_traits(step, frame)),
        limits=unwinder.limits_on(run.arch) if unwinder else (),
        transition=bool(run.watched.transition[step]),
    )


def judge_all(run: Run, unwinder: Unwinder, *, natively: bool | None = None) -> Sequence[Verdict]:
    """The verdicts of one strategy at every step of a run.

    ``natively`` decides between the walk over the whole trace, where the strategy has one, and one snapshot after the
    other; both say the same. None: whatever is faster for this run alone, given the time to load the former.
    """
    if natively is None:
        natively = len(run) >= NATIVE_FROM
    if natively and unwinder.unwind_trace is not None and run.in_columns:
        backtraces = unwinder.unwind_trace(run.trace)
        return judge_trace(run.watched, backtraces, declared=run.built.traits, limits=unwinder.limits_on(run.arch))
    verdicts = []
    for step in range(len(run)):
        snapshot = run.trace.snapshot(step)
        verdicts.append(judge(run, snapshot, unwinder.unwind(snapshot), unwinder))
    return tuple(verdicts)
