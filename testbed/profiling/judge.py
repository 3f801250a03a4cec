"""A process judged: every unwinder at every step of every thread, or at a seeded sample of them.

Unwinders that judge whole traces are asked at every step, natively; the others at some steps, of which the result says
how many. Where one that follows tables goes wrong, the row of a named function is held against the truth
(`testbed.profiling.tables`); of any other its assumption is evaluated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.checks.row_columns import Evaluate
from testbed.contract.unwinder import Unwinder
from testbed.image import describe
from testbed.image.symbols import symbol_for
from testbed.naming.symbolize import with_places
from testbed.process import ProcessRun
from testbed.profiling.result import UnwinderShare, WatchedProcess, WatchedThread, WrongPlace
from testbed.profiling.tables import NO_ROW_SAID, ProcessTables
from testbed.profiling.whose_code import CodeShare, function_at, joined_code, own_steps, shares_of_code
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth import Truth, observe
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.verdicts.assumptions.along import Accord
from testbed.verdicts.assumptions.words import because, expected
from testbed.verdicts.counts import ACCORDS, NOTHING_COUNTED, OUTCOMES, Counts, counted_columns
from testbed.verdicts.trace import EXACT, LYING, STOPPED, clause_names, judge_trace, verdict_at
from testbed.words.table_formats import TABLE_FORMATS

# The steps at which an unwinder goes wrong, gathered by the function whose frame it goes wrong at.


@dataclass(frozen=True, eq=False)
class WrongSteps:
    """Inexact steps, in columns: the frame at fault, the reason (0: unexplained), whether it is a false claim.

    ``whole``: it is a stop behind the last true caller.
    """

    thread: WatchedThread
    sites: FrameSites
    why: NDArray[np.uint64] = field(repr=False)
    lies: NDArray[np.bool_] = field(repr=False)
    whole: NDArray[np.bool_] = field(repr=False)


def wrong_places(
    wrong: WrongSteps, tables: ProcessTables, sentences: tuple[str, ...] | None, unforeseen: Callable[[int], str]
) -> tuple[list[WrongPlace], NDArray[np.int64]]:
    """One place per frame's pc and reason: what is wrong in the tables, or the sentence that ``why`` numbers from 1.

    ``unforeseen`` says of a step that nothing explains what was foretold there. Beside them which of them each step is
    of.
    """
    trace, sites = wrong.thread.watched.trace, wrong.sites
    calling = (sites.depth > 0) & (trace.sizes[sites.own] > 0)
    table = np.stack((sites.pc, calling.astype(np.uint64), wrong.why), axis=1)
    each, of_step = distinct_rows(table)
    rows = table[each]
    order = np.argsort(of_step, kind="stable")  # steps stay in order
    starts = np.searchsorted(of_step[order], np.arange(len(rows)))
    steps = np.bincount(of_step)
    lies, whole = (np.bincount(of_step, each).astype(np.int64) for each in (wrong.lies, wrong.whole))
    roots = set(np.flatnonzero(wrong.thread.watched.activations.parent < 0).tolist())
    found = []
    for i, (pc, is_caller, why) in enumerate(rows.tolist()):
        first = int(order[starts[i]])
        number = tables.image_at(pc - is_caller)
        loaded = trace.images[number] if number >= 0 else None
        image = loaded.image if loaded else None
        own, because = int(sites.own[first]), ""
        if why == GAVE_UP:
            because = f"a walk gives up after {MOST_FRAMES} frames"
        elif why and sentences is not None:
            because = sentences[why - 1]
        elif why:
            at = pc - (loaded.bias if loaded else 0)
            because = tables.because(number, at, why, own, calling=bool(is_caller))
        if because == NO_ROW_SAID and sites.node[first] in roots:
            because = NO_ROOT
        step = int(sites.step[first])
        link = pc - is_caller - (loaded.bias if loaded else 0)
        function, known = _named(wrong.thread, tables, number, link, int(sites.node[first]))
        found.append(
            WrongPlace(
                function,
                image.path.name if image else "no file",
                because,
                int(steps[i]),
                int(lies[i]),
                step - wrong.thread.begins + wrong.thread.first,
                wrong.thread.number,
                describe(trace.images, int(trace.pc[step])),
                image.path if image else None,
                known,
                int(whole[i]),
                "" if because else unforeseen(step),
            )
        )
    return found, of_step


def merged_places(places: Iterable[WrongPlace]) -> tuple[WrongPlace, ...]:
    """One place per function and reason, in the order in which they were first met."""
    groups: defaultdict[tuple[str, str, str], list[WrongPlace]] = defaultdict(list)
    for place in places:
        groups[place.library, place.function, place.because].append(place)
    return tuple(_one_of(group) for group in groups.values())


def joined_places(places: Iterable[WrongPlace]) -> tuple[WrongPlace, ...]:
    """One place per function, those with the most steps first; its reason is that of most of its steps.

    What nothing explains stays apart from what is explained.
    """
    groups: defaultdict[tuple[str, str, bool], list[WrongPlace]] = defaultdict(list)
    for place in merged_places(places):
        groups[place.library, place.function, place.explained].append(place)
    found = []
    for group in groups.values():
        most = max(group, key=lambda place: (place.steps, place.because))
        found.append(replace(_one_of(group), because=most.because))
    return tuple(sorted(found, key=lambda place: (-place.steps, place.library, place.function)))


def _one_of(group: list[WrongPlace]) -> WrongPlace:
    """Some places as one: it begins where the first of the first thread does."""
    first = min((place for place in group if place.thread == group[0].thread), key=lambda place: place.first)
    sums = {name: sum(getattr(place, name) for place in group) for name in ("steps", "lies", "whole")}
    return replace(first, **sums)


def _named(thread: WatchedThread, tables: ProcessTables, number: int, link: int, node: int) -> tuple[str, str]:
    """What the function at a link-time pc is called, and how `testbed check` calls it; "" of code that no file has.

    Without a symbol or an entry in the file's table a function is where it was entered.
    """
    if number < 0:
        return "code", ""
    image = thread.watched.trace.images[number].image
    if (known := function_at(image, link)) is not None:
        return known[1:]
    watched = thread.watched
    entered = int(watched.trace.pc[int(watched.activations.opened[node])])
    loaded = next(each for each in watched.trace.images if each.image is image)
    start = entered - loaded.bias
    if not image.covers(start) or not start <= link < start + _FAR or symbol_for(image, start) is not None:
        start = tables.start_of(number, link)
    return f"+{start - image.base:#x}", f"{start:#x}"


MOST_FRAMES = 1024  # the unwinders' own, which a test compares with this
GAVE_UP = np.uint64(1 << 63)  # as a reason: an honest stop at the last of so many
NO_ROOT = f"{NO_ROW_SAID} and so no root can be claimed"
_FAR = 0x4000  # bytes: a function without a name is not longer


SAMPLE = 500  # steps of a process at which an unwinder that takes one snapshot at a time is asked
SAMPLE_OF_TOOLS = 100  # the same of a real tool: some debuggers answer a few times a second
_IS_UNEXPLAINED = np.array([each.unexplained for each in ACCORDS])  # by place in ACCORDS
_BY_ROW = [ACCORDS.index(Accord.UNFOUNDED), ACCORDS.index(Accord.FAILS)]  # a right row, a wrong one


@dataclass(frozen=True, eq=False)
class _ThreadVerdicts:
    """The verdicts on some steps of one thread; ``accord`` and ``clause`` as in `testbed.verdicts.trace.Verdicts`."""

    steps: NDArray[np.int64]
    outcome: NDArray[np.uint8] = field(repr=False)
    frame: NDArray[np.int32] = field(repr=False)
    accord: NDArray[np.uint8] = field(repr=False)
    clause: NDArray[np.uint8] = field(repr=False)


def follows_tables(unwinder: Unwinder) -> bool:
    """True for an unwinder whose rows stand in a file; those of an analysis are made of the instructions."""
    return unwinder.rows is not None and unwinder.name in _FOLLOWED


_FOLLOWED = frozenset(name for name, its in TABLE_FORMATS.items() if its.checked)


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
    evaluate: Evaluate | None = None,
    sample: int | None = None,
) -> UnwinderShare:
    """One unwinder, judged. ``evaluate`` computes DWARF expressions of rows."""
    every_step = [np.arange(thread.begins, thread.stop) for thread in process.threads]
    chosen = every_step if unwinder.soon_judged else _sampled(process, sample or steps_asked(unwinder))
    found = joined_shares(
        unwinder,
        [
            judge_thread(thread, unwinder, steps, evaluate)
            for thread, steps in zip(process.threads, chosen, strict=True)
            if len(steps)
        ],
    )
    return replace(found, places=joined_places(found.places))


def judge_thread(
    thread: WatchedThread,
    unwinder: Unwinder,
    steps: NDArray[np.int64],
    evaluate: Evaluate | None,
) -> UnwinderShare:
    """One unwinder, judged at some steps of one thread; at least one. A place per function and reason."""
    found = _natively(thread, unwinder, steps) if unwinder.soon_judged else _one_by_one(thread, unwinder, steps)
    transition = thread.watched.transition[found.steps]
    differ = np.flatnonzero(~transition & (found.outcome != EXACT))
    whole = STOPPED[found.outcome] & (found.frame == thread.watched.callers[thread.watched.node[found.steps]])
    places, of_place = _places(thread, unwinder, found, differ, whole[differ], evaluate)
    if follows_tables(unwinder):
        by_row = np.array([_BY_ROW[place.explained] for place in places], np.uint8)
        found.accord[differ] = by_row[of_place]
    counts = counted_columns(
        found.outcome,
        transition,
        accord=found.accord,
        clause=found.clause,
        clauses=clause_names(unwinder),
        whole=whole,
        undecided=thread.watched.undecided[found.steps],
    )
    judged = ~transition
    codes, of_step = thread.code
    code = shares_of_code(
        codes,
        of_step[found.steps - thread.begins][judged],
        exact=found.outcome[judged] == EXACT,
        lies=LYING[found.outcome[judged]],
        whole=whole[judged],
    )
    return _share(unwinder, counts, places, code)


def joined_shares(unwinder: Unwinder, shares: Sequence[UnwinderShare]) -> UnwinderShare:
    """Of several threads, or parts of one, together; a place per function and reason."""
    places = [place for share in shares for place in share.places]
    code = [each for share in shares for each in share.code]
    return _share(unwinder, sum(shares, NOTHING_COUNTED), places, code)


def _share(
    unwinder: Unwinder, counts: Counts, places: Sequence[WrongPlace], code: Sequence[CodeShare]
) -> UnwinderShare:
    return UnwinderShare(
        **vars(counts),
        name=unwinder.name,
        sampled=not unwinder.soon_judged,
        places=merged_places(places),
        code=joined_code(code),
    )


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
    """At all steps of a thread. Of what follows tables the rows are held against the truth later.

    All others are held to their assumption at every answer: each wrong one is told with its place and the clause.
    """
    watched = thread.watched
    assert unwinder.unwind_trace is not None
    asked = replace(unwinder, assumption=None) if follows_tables(unwinder) else unwinder
    swept, counted = unwinder.unwind_trace(watched.trace), (thread.begins, thread.stop)
    said = judge_trace(watched, swept, asked, steps=counted)
    return _ThreadVerdicts(steps, said.outcome[steps], said.frame[steps, 0], said.accord[steps], said.clause[steps])


def _one_by_one(thread: WatchedThread, unwinder: Unwinder, steps: NDArray[np.int64]) -> _ThreadVerdicts:
    watched, clauses = thread.watched, clause_names(unwinder)
    outcome, frame = np.empty(len(steps), np.uint8), np.empty(len(steps), np.int32)
    accord, clause = np.empty(len(steps), np.uint8), np.zeros(len(steps), np.uint8)
    for i, step in enumerate(steps.tolist()):
        verdict = verdict_at(watched, unwinder.unwind(watched.trace.snapshot(step)), unwinder, step)
        outcome[i], frame[i] = OUTCOMES.index(verdict.outcome), verdict.frame
        accord[i], clause[i] = ACCORDS.index(verdict.accord), clauses.index(verdict.clause)
    return _ThreadVerdicts(steps, outcome, frame, accord, clause)


def _places(
    thread: WatchedThread,
    unwinder: Unwinder,
    found: _ThreadVerdicts,
    wrong: NDArray[np.int64],
    whole: NDArray[np.bool_],
    evaluate: Evaluate | None,
) -> tuple[list[WrongPlace], NDArray[np.int64]]:
    """The functions at whose frames it goes wrong, and which of them each wrong step is of."""
    if not len(wrong):
        return [], wrong
    watched = thread.watched
    steps, frames = found.steps[wrong], found.frame[wrong].astype(np.int64)
    sites = frame_sites(watched.trace, watched.activations, watched.node, steps, frames)
    by_table = follows_tables(unwinder)
    tables = ProcessTables(watched, sites, unwinder if by_table else None, evaluate)
    clauses = tuple(each.wrong for each in unwinder.assumption.clauses) if unwinder.assumption else ()
    accords = found.accord[wrong]
    unexplained = _IS_UNEXPLAINED[accords]
    why = tables.masks(sites) if by_table else np.where(unexplained, 0, found.clause[wrong]).astype(np.uint64)
    gave_up = (sites.depth == MOST_FRAMES - 1) & STOPPED[found.outcome[wrong]]
    why = np.where((why == 0) & gave_up, GAVE_UP, why)
    if not by_table:
        why = np.where((why == 0) & ~unexplained, len(clauses) + 1 + accords.astype(np.uint64), why)
    wrongs = WrongSteps(thread, sites, why, LYING[found.outcome[wrong]], whole)
    sentences = None if by_table else (*clauses, *(each.value for each in ACCORDS))
    return wrong_places(wrongs, tables, sentences, lambda step: _unforeseen(watched, unwinder, step))


def _unforeseen(watched: Truth, unwinder: Unwinder, step: int) -> str:
    """What is wrong with an answer that nothing explains, and what was foretold."""
    images = watched.trace.images
    verdict = verdict_at(watched, unwinder.unwind(watched.trace.snapshot(step)), unwinder, step)
    why = because(verdict.failed, images, watched, step) if verdict.failed else ""
    return f"{with_places(images, verdict.difference)}; {expected(verdict.accord, verdict.failed, images, why)}"
