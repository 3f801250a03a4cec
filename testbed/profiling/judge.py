"""A process judged: every unwinder at every step of every thread, or at a seeded sample of them.

Unwinders that judge whole traces are asked at every step, natively; the others at some steps, of which the result says
how many. Where one goes wrong, its assumption says at which frame and why; the frame's function is named
(`testbed.profiling.places`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun
from testbed.process.process_run import LongProcess, LongThread
from testbed.profiling.places import WrongPlaces, WrongSteps, joined_places
from testbed.profiling.result import (
    CodeShare,
    CountedProcess,
    CountedThread,
    UnwinderShare,
    WatchedProcess,
    WatchedThread,
    joined_code,
    own_steps,
    shares_of_code,
)
from testbed.runs.side_by_side import SideBySide, side_by_side
from testbed.truth import observe
from testbed.truth.frame_sites import frame_sites
from testbed.truth.windows.watch import WindowState, WindowTruth, survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.verdicts.trace import EXACT, LYING, STOPPED, clause_names, judge_trace, verdicts_at
from testbed.verdicts.verdict import ACCORDS, NOTHING_COUNTED, OUTCOMES, counted_columns
from testbed.words.budget import give_back

SAMPLE = 500  # steps of a process at which an unwinder that takes one snapshot at a time is asked
SAMPLE_OF_TOOLS = 100  # the same of a real tool: some debuggers answer a few times a second


@dataclass(frozen=True, eq=False)
class _ThreadVerdicts:
    """The verdicts on some steps of one thread; ``accord`` and ``clause`` as in `testbed.verdicts.trace.Verdicts`."""

    steps: NDArray[np.int64]
    outcome: NDArray[np.uint8] = field(repr=False)
    frame: NDArray[np.int32] = field(repr=False)
    accord: NDArray[np.uint8] = field(repr=False)
    clause: NDArray[np.uint8] = field(repr=False)


def watch_process(run: ProcessRun, progress: Callable[[int], None] = lambda done: None) -> WatchedProcess:
    """Watch every thread of a process. ``progress`` is told how many steps were watched."""
    threads, done = [], 0
    for track in run.tracks:
        threads.append(WatchedThread(track.thread, observe(track.trace), track.begins))
        done += len(track.trace)
        progress(done)
    return WatchedProcess(run, tuple(threads))


def steps_asked(unwinder: Unwinder) -> int:
    """At how many steps of a process an unwinder is asked that takes one snapshot at a time."""
    return SAMPLE if unwinder.tool is None else SAMPLE_OF_TOOLS


def judge_process(
    process: WatchedProcess,
    unwinder: Unwinder,
    *,
    sample: int | None = None,
) -> UnwinderShare:
    """One unwinder, judged."""
    every_step = [np.arange(thread.begins, thread.stop) for thread in process.threads]
    chosen = every_step if unwinder.soon_judged else _sampled(process, sample or steps_asked(unwinder))
    judging = Judging(unwinder)
    for thread, steps in zip(process.threads, chosen, strict=True):
        judging.add(thread, steps)
    return share_of(unwinder, [judging])


def share_of(unwinder: Unwinder, judgings: Sequence[Judging]) -> UnwinderShare:
    """What came of one unwinder: of all threads together, or of each."""
    return UnwinderShare(
        **vars(sum((each.counts for each in judgings), NOTHING_COUNTED)),
        name=unwinder.name,
        done_by=unwinder.done_by,
        sampled=not unwinder.soon_judged,
        places=joined_places(place for each in judgings for place in each.places.found),
        code=joined_code(code for each in judgings for code in each.code),
    )


class Judging:
    """One unwinder, judged at steps of one thread, or part of one, after the other."""

    def __init__(self, unwinder: Unwinder) -> None:
        self.unwinder = unwinder
        self.counts = NOTHING_COUNTED
        self.places = WrongPlaces(unwinder)
        self.code: tuple[CodeShare, ...] = ()

    def add(self, thread: WatchedThread, steps: NDArray[np.int64]) -> None:
        """Judge some steps of a thread."""
        if not len(steps):
            return
        watched, unwinder = thread.watched, self.unwinder
        found = (_natively if unwinder.soon_judged else _one_by_one)(thread, unwinder, steps)
        transition = watched.transition[found.steps]
        nodes = watched.node[found.steps]
        whole = STOPPED[found.outcome] & (found.frame == watched.callers[nodes])
        answered = (STOPPED | LYING)[found.outcome]
        called = thread.reach[nodes] > 0
        within = called & ((found.outcome == EXACT) | (answered & (found.frame >= thread.reach[nodes])))
        self.counts += counted_columns(
            found.outcome,
            transition,
            accord=found.accord,
            clause=found.clause,
            clauses=clause_names(unwinder),
            whole=whole,
            undecided=watched.undecided[found.steps],
        )
        wrong = np.flatnonzero(~transition & (found.outcome != EXACT))
        if len(wrong):
            frames = found.frame[wrong].astype(np.int64)
            sites = frame_sites(watched.trace, watched.activations, watched.node, found.steps[wrong], frames)
            columns = (found.accord[wrong], found.clause[wrong], LYING[found.outcome[wrong]], whole[wrong])
            self.places.add(WrongSteps(thread, sites, *columns))
        judged = ~transition
        codes, of_step = thread.code
        code = shares_of_code(
            codes,
            of_step[found.steps - thread.begins][judged],
            right=((found.outcome == EXACT) | whole)[judged],
            lies=LYING[found.outcome[judged]],
            called=called[judged],
            within=within[judged],
        )
        self.code = joined_code((*self.code, *code))


def _sampled(process: WatchedProcess, count: int) -> list[NDArray[np.int64]]:
    seed = process.threads[0].watched.trace.seed if process.threads else 0
    own = [[own_steps(thread.watched.trace, thread.begins, thread.stop)] for thread in process.threads]
    chosen = sampled_steps(seed, own, count)
    return [steps + thread.begins for steps, thread in zip(chosen, process.threads, strict=True)]


def sampled_steps(seed: int, own: Sequence[Sequence[NDArray[np.bool_]]], count: int) -> list[NDArray[np.int64]]:
    """Some steps of all threads together, chosen by a run's seed: those of each thread, in order.

    ``own`` has for each thread, part by part, which of its steps are of the program's own code. Those come first:
    others are chosen where there are fewer of them.
    """
    random, found, left = Random(f"steps {seed}"), [np.zeros(0, np.int64) for _ in own], count
    for wanted in (True, False):
        total = sum(int((part == wanted).sum()) for thread in own for part in thread)
        ranks = np.array(sorted(random.sample(range(total), min(left, total))), np.int64)
        left, before = left - len(ranks), 0
        for i, thread in enumerate(own):
            first = 0
            for part in thread:
                places = np.flatnonzero(part == wanted)
                within = ranks[(ranks >= before) & (ranks < before + len(places))] - before
                found[i] = np.append(found[i], places[within] + first)
                before, first = before + len(places), first + len(part)
    return [np.sort(steps) for steps in found]


def _natively(thread: WatchedThread, unwinder: Unwinder, steps: NDArray[np.int64]) -> _ThreadVerdicts:
    """At all steps of a thread."""
    watched = thread.watched
    assert unwinder.unwind_trace is not None
    swept, counted = unwinder.unwind_trace(watched.trace), (thread.begins, thread.stop)
    said = judge_trace(watched, swept, unwinder, steps=counted)
    return _ThreadVerdicts(steps, said.outcome[steps], said.frame[steps, 0], said.accord[steps], said.clause[steps])


def _one_by_one(thread: WatchedThread, unwinder: Unwinder, steps: NDArray[np.int64]) -> _ThreadVerdicts:
    watched, clauses = thread.watched, clause_names(unwinder)
    outcome, frame = np.empty(len(steps), np.uint8), np.empty(len(steps), np.int32)
    accord, clause = np.empty(len(steps), np.uint8), np.zeros(len(steps), np.uint8)
    said = (unwinder.unwind(watched.trace.snapshot(step)) for step in steps.tolist())
    for i, verdict in enumerate(verdicts_at(watched, said, unwinder, steps.tolist())):
        outcome[i], frame[i] = OUTCOMES.index(verdict.outcome), verdict.frame
        accord[i], clause[i] = ACCORDS.index(verdict.accord), clauses.index(verdict.clause)
    return _ThreadVerdicts(steps, outcome, frame, accord, clause)


# A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.
#
# A thread is watched once, by what is known then. It is watched again where a later piece says something else of an
# earlier one (`testbed.truth.windows`), and for unwinders that take one snapshot at a time: the steps at which these
# are asked are chosen by the seed, of all threads together. The counts are those of the whole process.

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
