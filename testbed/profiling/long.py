"""A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.

Every thread is watched twice, as `testbed.truth.windows` needs it; the counts are those of the whole process.
Strategies that take one snapshot at a time are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from testbed.checks.row_rules import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.process.pieces import LongProcess
from testbed.profiling.judge import joined_shares, judge_thread
from testbed.profiling.places import joined_places
from testbed.profiling.result import CountedProcess, CountedThread, StrategyShare, WatchedThread
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import windows
from testbed.words.free_memory import give_back


def judge_in_pieces(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    *,
    evaluate: Evaluate | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[CountedProcess, list[StrategyShare]]:
    """Every thread, counted, and every strategy at all of its steps. ``progress`` is told how many are done."""
    shares = [joined_shares(unwinder, []) for unwinder in unwinders]
    counted: list[CountedThread] = []
    pieces = 0
    for thread in process.threads:
        known = survey(lambda thread=thread: windows(process.chunks(thread)))  # type: ignore[misc]
        pieces = max(pieces, known.windows)
        steps = activations = transition = 0
        for truth, _ in watch(windows(process.chunks(thread)), known):
            window = truth.window
            part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
            rows = np.arange(window.start, window.stop)
            for i, unwinder in enumerate(unwinders):
                shares[i] = joined_shares(unwinder, [shares[i], judge_thread(part, unwinder, rows, evaluate)])
            steps, activations = steps + part.steps, activations + part.activations
            transition += part.transition
            progress(sum(each.steps for each in counted) + steps)
            give_back()
        counted.append(CountedThread(thread.number, steps, activations, transition))
    shares = [replace(share, places=joined_places(share.places)) for share in shares]
    return CountedProcess(process.run, tuple(counted), pieces), shares
