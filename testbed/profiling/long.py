"""A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.

Every thread is watched twice, as `testbed.truth.windows` needs it; the counts are those of the whole process. So are
the steps at which strategies are asked that take one snapshot at a time: chosen by the seed, of all threads together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.checks.row_columns import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.process.pieces import LongProcess
from testbed.profiling.judge import joined_shares, judge_thread, sampled_steps, steps_asked
from testbed.profiling.places import joined_places
from testbed.profiling.result import CountedProcess, CountedThread, StrategyShare, WatchedThread
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.free_memory import give_back


def judge_in_pieces(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    *,
    evaluate: Evaluate | None = None,
    sample: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[CountedProcess, list[StrategyShare]]:
    """Every thread, counted, and every strategy, as `judge_process` has it. ``progress`` is told how many are done."""
    shares = [joined_shares(unwinder, []) for unwinder in unwinders]
    lengths = [thread.steps for thread in process.threads]
    asked = [
        None if each.soon_judged else sampled_steps(process.inputs.seed, lengths, sample or steps_asked(each))
        for each in unwinders
    ]
    counted: list[CountedThread] = []
    pieces = 0
    for number, thread in enumerate(process.threads):
        known = survey(lambda thread=thread: windows(process.chunks(thread)))  # type: ignore[misc]
        pieces = max(pieces, known.windows)
        steps = activations = transition = undecided = 0
        for truth, _ in watch(windows(process.chunks(thread)), known):
            window = truth.window
            part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
            for i, (unwinder, sampled) in enumerate(zip(unwinders, asked, strict=True)):
                rows = _rows(window, None if sampled is None else sampled[number])
                if len(rows):
                    said = judge_thread(part, unwinder, rows, evaluate)
                    shares[i] = joined_shares(unwinder, [shares[i], said])
            steps, activations = steps + part.steps, activations + part.activations
            transition, undecided = transition + part.transition, undecided + part.undecided
            progress(sum(each.steps for each in counted) + steps)
            give_back()
        counted.append(CountedThread(thread.number, steps, activations, transition, undecided))
    shares = [replace(share, places=joined_places(share.places)) for share in shares]
    return CountedProcess(process.run, tuple(counted), pieces), shares


def _rows(window: Window, steps: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Where some of a thread's steps, or all, are in a window of it."""
    if steps is None:
        return np.arange(window.start, window.stop)
    return steps[(steps >= window.first) & (steps < window.end)] - window.first + window.start
