"""A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.

Every thread is watched twice, as `testbed.truth.windows` needs it; the counts are those of the whole process. So are
the steps at which unwinders are asked that take one snapshot at a time: chosen by the seed, of all threads together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from testbed.contract.unwinder import Unwinder
from testbed.process.process_run import LongProcess, LongThread
from testbed.profiling.judge import Judging, sampled_steps, steps_asked
from testbed.profiling.result import CountedProcess, CountedThread, UnwinderShare, WatchedThread
from testbed.profiling.whose_code import own_steps
from testbed.runs.side_by_side import SideBySide, side_by_side
from testbed.truth.windows.known import Known
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.budget import give_back


def judge_in_pieces(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    *,
    sample: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
    interrupted: threading.Event | None = None,
    jobs: int = 1,
) -> tuple[CountedProcess, list[UnwinderShare]]:
    """Every thread, counted, and every unwinder, as `judge_process` has it.

    ``progress`` is told how many steps are done, of two passes over each thread. Where it is ``interrupted``, a pass
    ends behind the piece of each thread that it is at; while the first one goes on, what that saw is judged. With two
    ``jobs`` one thread runs ahead, and another one judges.
    """
    with side_by_side(jobs) as beside:
        return _judged(process, unwinders, sample, progress, interrupted or threading.Event(), beside)


def _judged(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    sample: int | None,
    progress: Callable[[int], None],
    heard: threading.Event,
    beside: SideBySide,
) -> tuple[CountedProcess, list[UnwinderShare]]:
    ends = [_PassEnd(heard) for _ in process.threads]
    judgings = [Judging(unwinder) for unwinder in unwinders]
    surveys: list[Known] = []
    own = []
    sampling = not all(each.soon_judged for each in unwinders)
    for thread, end in zip(process.threads, ends, strict=True):
        parts: list[NDArray[np.bool_]] = []
        own.append(parts)

        def passed(
            thread: LongThread = thread, end: _PassEnd = end, parts: list[NDArray[np.bool_]] = parts
        ) -> Iterator[Window]:
            found = end.of(windows(beside.ahead(process.chunks(thread))))
            return _with_own(found, parts) if sampling else found

        before = sum(known.steps for known in surveys)
        surveys.append(survey(passed, lambda step, before=before: progress(before + step)))  # type: ignore[misc]
    asked = [
        None if each.soon_judged else sampled_steps(process.inputs.seed, own, sample or steps_asked(each))
        for each in unwinders
    ]
    counted: list[CountedThread] = []
    pieces = 0
    heard.clear()
    for number, (thread, known, end) in enumerate(zip(process.threads, surveys, ends, strict=True)):
        pieces = max(pieces, known.windows)
        steps = activations = transition = undecided = 0
        for piece, (truth, _) in enumerate(watch(end.of(windows(beside.ahead(process.chunks(thread)))), known)):
            window = truth.window
            part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
            rows = [_rows(window, None if sampled is None else sampled[number]) for sampled in asked]
            beside.do([partial(each.add, part, some) for each, some in zip(judgings, rows, strict=True)])
            steps, activations = steps + part.steps, activations + part.activations
            transition, undecided = transition + part.transition, undecided + part.undecided
            progress(sum(known.steps for known in surveys) + sum(each.steps for each in counted) + steps)
            if piece % 16 == 0:  # pages that were given back cost as much as they did at first
                give_back()
        counted.append(CountedThread(thread.number, steps, activations, transition, undecided))
    beside.wait()
    left = sum(each.steps for each in process.threads) - sum(each.steps for each in counted)
    return CountedProcess(process.run, tuple(counted), pieces, left), [judging.share for judging in judgings]


class _PassEnd:
    """Where each pass over a thread ends: behind the window at which an interrupt was heard."""

    def __init__(self, heard: threading.Event) -> None:
        self.heard, self.step = heard, sys.maxsize

    def of(self, passed: Iterable[Window]) -> Iterator[Window]:
        """The windows until then."""
        for window in passed:
            if self.heard.is_set():
                self.step = min(self.step, window.end)
            yield window
            if window.end >= self.step:
                return


def _with_own(passed: Iterable[Window], own: list[NDArray[np.bool_]]) -> Iterator[Window]:
    """The windows of a thread; of each it is noted which steps are of the program's own code."""
    own.clear()
    for window in passed:
        own.append(own_steps(window.trace, window.start, window.stop))
        yield window


def _rows(window: Window, steps: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Where some of a thread's steps, or all, are in a window of it."""
    if steps is None:
        return np.arange(window.start, window.stop)
    return steps[(steps >= window.first) & (steps < window.end)] - window.first + window.start
