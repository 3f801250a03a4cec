"""A process judged: every unwinder at every step of every thread, or at a seeded sample of them.

Unwinders that judge whole traces are asked at every step, natively; the others at some steps, of which the result says
how many. Where one goes wrong, its assumption says at which frame and why; the frame's function is named
(`testbed.profiling.places`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun
from testbed.profiling.places import WrongPlaces, WrongSteps, joined_places
from testbed.profiling.result import UnwinderShare, WatchedProcess, WatchedThread
from testbed.profiling.whose_code import CodeShare, joined_code, own_steps, shares_of_code
from testbed.truth import observe
from testbed.truth.frame_sites import frame_sites
from testbed.verdicts.counts import ACCORDS, NOTHING_COUNTED, OUTCOMES, counted_columns
from testbed.verdicts.trace import EXACT, LYING, STOPPED, clause_names, judge_trace, verdicts_at

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
