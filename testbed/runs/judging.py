"""A strategy judged at one site of a run, or at all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.native.compiled import is_kept
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.verdicts.one import Verdict, first_answers
from testbed.verdicts.trace import judge_trace, verdict_at

NATIVE_FROM = 10_000  # steps; as many are judged one by one while the native walk and judge are compiled
LOADED_FROM = 500  # steps; as many are judged one by one while what was compiled before is loaded


def is_soon_native(steps: int) -> bool:
    """True where a run of so many steps is judged sooner natively, with the machine code that is there."""
    if not LOADED_FROM <= steps < NATIVE_FROM:
        return steps >= NATIVE_FROM
    from testbed.verdicts.native import judge_steps

    return is_kept(judge_steps)


def judge(run: Run, at: Snapshot | int, said: Backtrace, unwinder: Unwinder | None = None) -> Verdict:
    """The verdict on a backtrace at a snapshot of a run; with the unwinder given, it is held to its assumption."""
    return verdict_at(run.watched, said, unwinder, run.number(at))


def judge_all(run: Run, unwinder: Unwinder, *, natively: bool | None = None) -> Sequence[Verdict]:
    """The verdicts of one strategy at every step of a run.

    ``natively`` decides between the judge of whole traces, for a strategy that walks them, and one verdict after the
    other; both say the same. None: whatever is faster for this run alone (`is_soon_native`).
    """
    if natively is None:
        natively = is_soon_native(len(run))
    said: Iterable[Backtrace] = (unwinder.unwind(run.trace.snapshot(step)) for step in range(len(run)))
    if unwinder.unwind_trace is not None and run.in_columns:
        said = swept = unwinder.unwind_trace(run.trace)
        if natively:
            return judge_trace(run.watched, swept, unwinder)
    return tuple(first_answers((judge(run, step, each, unwinder), each) for step, each in enumerate(said)))
