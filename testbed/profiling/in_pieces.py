"""A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.

A thread is watched once, by what is known then. It is watched again where a later piece says something else of an
earlier one (`testbed.truth.windows`), and for unwinders that take one snapshot at a time: the steps at which these are
asked are chosen by the seed, of all threads together. The counts are those of the whole process.
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
from testbed.profiling.judge import Judging, sampled_steps, share_of, steps_asked
from testbed.profiling.result import CountedProcess, CountedThread, UnwinderShare, WatchedThread
from testbed.profiling.whose_code import own_steps
from testbed.runs.side_by_side import SideBySide, side_by_side
from testbed.truth.windows.watch import WindowState, WindowTruth, survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.budget import give_back

SampledSteps = dict[str, NDArray[np.int64]]  # of a thread the steps at which an unwinder is asked, by its name


def judge_in_pieces(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    *,
    sample: int | None = None,
    progress: Callable[[int, str], None] = lambda done, what: None,
    interrupted: threading.Event | None = None,
    jobs: int = 1,
) -> tuple[CountedProcess, list[UnwinderShare]]:
    """Every thread, counted, and every unwinder, as `judge_process` has it.

    ``progress`` is told how many steps are done, and of which pass. Where it is ``interrupted``, a pass ends behind the
    piece of each thread that it is at. With two ``jobs`` one thread runs ahead, and another one judges.
    """
    heard = interrupted or threading.Event()
    soon = [each for each in unwinders if each.soon_judged]
    sampled = [each for each in unwinders if not each.soon_judged]
    with side_by_side(jobs) as beside:
        threads = [_JudgedThread(process, thread, beside, heard) for thread in process.threads]

        def told(i: int, what: str) -> Callable[[int], None]:
            before = sum(each.steps for each in process.threads[:i])
            return lambda done: progress(before + done, what)

        for i, each in enumerate(threads):
            each.survey(soon, told(i, "watching and judging"), with_own=bool(sampled))
        own = [each.own for each in threads]
        asked = {each.name: sampled_steps(process.inputs.seed, own, sample or steps_asked(each)) for each in sampled}
        heard.clear()
        for i, each in enumerate(threads):
            if again := [*(soon if each.known.revised else ()), *sampled]:
                chosen = {name: steps[i] for name, steps in asked.items()}
                each.watch(again, chosen, told(i, "watching again"))
    left = sum(each.steps for each in process.threads) - sum(each.counted.steps for each in threads)
    pieces = max((each.known.windows for each in threads), default=0)
    counted = CountedProcess(process.run, tuple(each.counted for each in threads), pieces, left)
    return counted, [share_of(each, [judged.judgings[each.name] for judged in threads]) for each in unwinders]


class _JudgedThread:
    """One thread, and what comes of it as it is watched: counts, and each unwinder's judging.

    ``own`` has of each piece which steps are of the program's own code.
    """

    def __init__(self, process: LongProcess, thread: LongThread, beside: SideBySide, heard: threading.Event) -> None:
        self._process, self._thread, self._beside = process, thread, beside
        self._end = _PassEnd(heard)
        self.judgings: dict[str, Judging] = {}
        self._begin(())

    def survey(self, unwinders: Sequence[Unwinder], progress: Callable[[int], None], *, with_own: bool) -> None:
        """Watch it, and judge what is judged soon, until a later piece says something else of an earlier one."""

        def see(truth: WindowTruth, _: WindowState | None) -> None:
            if truth.window.first == 0:  # a pass begins
                self._begin(unwinders)
            if with_own:
                self.own.append(own_steps(truth.trace, truth.window.start, truth.window.stop))
            self._add(truth, () if truth.known.revised else unwinders, {})

        self.known = survey(self._windows, progress, see)
        self._beside.wait()

    def watch(self, unwinders: Sequence[Unwinder], chosen: SampledSteps, progress: Callable[[int], None]) -> None:
        """Watch it again by all that is known, and judge some unwinders."""
        self._begin(unwinders)
        for truth, _ in watch(self._windows(), self.known):
            self._add(truth, unwinders, chosen)
            progress(self.counted.steps)
        self._beside.wait()

    def _windows(self) -> Iterator[Window]:
        return self._end.of(windows(self._beside.ahead(self._process.chunks(self._thread))))

    def _begin(self, unwinders: Sequence[Unwinder]) -> None:
        self._beside.wait()
        self.judgings |= {each.name: Judging(each) for each in unwinders}
        self.counted = CountedThread(self._thread.number, 0, 0, 0, 0)
        self.own: list[NDArray[np.bool_]] = []
        self._pieces = 0

    def _add(self, truth: WindowTruth, unwinders: Sequence[Unwinder], chosen: SampledSteps) -> None:
        """Count a piece, and judge unwinders on it: at some steps, or at all."""
        window, now = truth.window, self.counted
        part = WatchedThread(now.number, truth, window.start, window.stop, window.first)
        rows = (_rows(window, chosen.get(each.name)) for each in unwinders)
        self._beside.do(
            [partial(self.judgings[each.name].add, part, some) for each, some in zip(unwinders, rows, strict=True)]
        )
        self.counted = CountedThread(
            now.number,
            now.steps + part.steps,
            now.activations + part.activations,
            now.transition + part.transition,
            now.undecided + part.undecided,
        )
        self._pieces += 1
        if self._pieces % 16 == 0:  # pages that were given back cost as much as they did at first
            give_back()


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


def _rows(window: Window, steps: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Where some of a thread's steps, or all, are in a window of it."""
    if steps is None:
        return np.arange(window.start, window.stop)
    return steps[(steps >= window.first) & (steps < window.end)] - window.first + window.start
