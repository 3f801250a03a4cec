"""A process judged: every strategy at every step of every thread, or at a seeded sample of them.

Strategies that judge whole traces are asked at every step, natively; the others at some steps, of which the result says
how many. One that follows tables is explained by the wrong row of a named function (`testbed.profiling.tables`), any
other by its limits, which are those of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from testbed.checks.native.codes import NO_ROW, OUTERMOST, UNREADABLE
from testbed.checks.options import TABLES
from testbed.checks.row_columns import Evaluate
from testbed.contract.rows import AtExpression, IsExpression, RowTable, Rule, SameValue, Undefined
from testbed.contract.unwinder import Unwinder
from testbed.process import ProcessRun
from testbed.profiling.places import GAVE_UP, MOST_FRAMES, WrongSteps, joined_places, merged_places, wrong_places
from testbed.profiling.result import StrategyShare, WatchedProcess, WatchedThread, WrongPlace
from testbed.profiling.tables import ProcessTables
from testbed.truth import Truth, observe
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.truth.frame_traits import LazyTraits
from testbed.verdicts.counts import NOTHING_COUNTED, OUTCOMES, Counts, counted_columns
from testbed.verdicts.one import judge_backtrace
from testbed.verdicts.trace import EXACT, LYING, UNEXPLAINED, judge_trace
from testbed.words.errors import CannotUnwind
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

# What is special about the rows of one function, as traits: facts about a table that limit who cannot say them.
#
# A header declares them of a program of the corpus. Of a library's code nobody does: they are read from its table.


def traits_of_row(table: RowTable, pc: int) -> frozenset[Trait]:
    """``INEXPRESSIBLE``, ``TAKEN_BACK`` and ``ENTRY_LOST``, as far as they hold of the row of a link-time pc."""
    row = table.at(pc)
    if row is None:
        return frozenset()
    found = set()
    if any(isinstance(rule, AtExpression | IsExpression) for rule in (row.cfa, *row.registers.values())):
        found.add(Trait.INEXPRESSIBLE)
    entry = next(((start, end, place) for start, end, place in table.entries if start <= pc < end), None)
    if entry is not None:
        start, end, place = entry
        # The rows of a table stand in the order of their code, as its writers go through it.
        before = [other for other in table.rows if start <= other.start < row.start]
        names = {name for other in before for name in other.registers} | row.registers.keys()
        if any(_taken_back(row.registers.get(name), [other.registers.get(name) for other in before]) for name in names):
            found.add(Trait.TAKEN_BACK)
        if any(other == end and earlier < place for other, _, earlier in table.entries):
            found.add(Trait.ENTRY_LOST)
    return frozenset(found)


def _taken_back(now: Rule | None, before: list[Rule | None]) -> bool:
    """True where an earlier row says where the register is, and this one does not; or this one says: nowhere."""
    if isinstance(now, Undefined):
        return any(not isinstance(rule, Undefined) for rule in before)
    return (now is None or isinstance(now, SameValue)) and any(
        rule is not None and not isinstance(rule, SameValue) for rule in before
    )


TableTraits = Callable[[int, int], frozenset[Trait]]
"""The traits of a frame by step and depth."""

_OF_TABLES = frozenset(
    {
        *(Trait.NO_TABLE, Trait.WRONG_TABLE, Trait.CANNOT_UNWIND),
        *(Trait.INEXPRESSIBLE, Trait.TAKEN_BACK, Trait.ENTRY_LOST),
    }
)


# The tables that a real tool believes, as traits of frames: a file's missing or wrong row is what limits the tool.
#
# No header says of a library which of its rows are wrong. The truth does: where a row is not there a frame has
# NO_TABLE, where it says something false WRONG_TABLE, and where it says that nobody called, or that the function
# cannot be unwound, CANNOT_UNWIND, too. What is special about a right row, `traits_of_row` says.

# Of several kinds of tables a tool prefers the first that has a row. What is written for EHABI libdw does not read, and
# gdb and LLDB of callers only, since it holds at calls: where code is interrupted their analysers go first.
_NOT_EHABI = frozenset({"libdw"})
_EHABI_OF_CALLERS = frozenset({"gdb", "lldb"})


@dataclass(frozen=True, slots=True)
class BelievedTable:
    """Who reads one kind of table, and whether it is believed of callers only."""

    reader: Unwinder
    of_callers: bool = False


def believed_by(unwinder: Unwinder, readers: Sequence[Unwinder], watched: Truth) -> tuple[BelievedTable, ...] | None:
    """The kinds of tables that a strategy believes, the preferred one first.

    None where no limit of it speaks of tables, or nobody says how tables are read. A tool that needs a kind of table
    believes that alone; any other each kind that one of the files has: there may be none that it reads.
    """
    arch, images = watched.trace.arch, [loaded.image for loaded in watched.trace.images]
    speaks = any(limit.trait in _OF_TABLES for limit in unwinder.limits_on(arch))
    if not readers or unwinder.rows is not None or not speaks:
        return None
    there = [reader for reader in readers if any(reader.applies_to(image) for image in images)]
    needed = [reader for reader in there if reader.needs and reader.needs & unwinder.needs]
    read = needed[:1] or [each for each in there if unwinder.name not in _NOT_EHABI or each.name != "ehabi"]
    return tuple(BelievedTable(each, each.name == "ehabi" and unwinder.name in _EHABI_OF_CALLERS) for each in read)


def traits_of_tables(
    watched: Truth, believed: Sequence[BelievedTable] | None, evaluate: Evaluate | None
) -> TableTraits:
    """What tables say wrongly, frame by frame: the first that has a row is believed."""
    if believed is None:
        return lambda step, depth: frozenset()
    tables: dict[str, ProcessTables] = {}  # made where the first frame is asked about: exact steps ask about none

    def of_frame(step: int, depth: int) -> frozenset[Trait]:
        site, without = _site(watched, step, depth), {Trait.NO_TABLE}
        for kind in believed:
            if kind.of_callers and depth == 0:
                continue
            if kind.reader.name not in tables:
                tables[kind.reader.name] = ProcessTables(watched, kind.reader, evaluate)
            mask = int(tables[kind.reader.name].masks(site)[0])
            table, pc = tables[kind.reader.name].looked_up(site)
            if not mask & (NO_ROW | UNREADABLE):
                return _traits(mask) | (traits_of_row(table, pc) if table else frozenset())
            if table is not None and isinstance(table.stop_at(pc), CannotUnwind):
                without.add(Trait.CANNOT_UNWIND)
        return frozenset(without)

    return of_frame


def _site(watched: Truth, step: int, depth: int) -> FrameSites:
    steps, depths = np.array([step], np.int64), np.array([depth], np.int64)
    return frame_sites(watched.trace, watched.activations, watched.node, steps, depths)


def _traits(mask: int) -> frozenset[Trait]:
    if not mask:
        return frozenset()
    return frozenset({Trait.WRONG_TABLE, Trait.CANNOT_UNWIND} if mask & OUTERMOST else {Trait.WRONG_TABLE})


SAMPLE = 500  # steps of a process at which a strategy that takes one snapshot at a time is asked
SAMPLE_OF_TOOLS = 100  # the same of a real tool: some debuggers answer a few times a second
A_PLACE = "a place"  # the cause of every step that is explained: places say why
_STOPS = [OUTCOMES.index(outcome) for outcome in (Outcome.REFUSED, Outcome.STOPPED)]


@dataclass(frozen=True, eq=False)
class _ThreadVerdicts:
    """The verdicts on some steps of one thread. ``limit`` numbers the strategy's limits, or is UNEXPLAINED."""

    steps: NDArray[np.int64]
    outcome: NDArray[np.uint8] = field(repr=False)
    frame: NDArray[np.int32] = field(repr=False)
    limit: NDArray[np.int8] = field(repr=False)


def follows_tables(unwinder: Unwinder) -> bool:
    """True for a strategy whose rows stand in a file; those of an analysis are made of the instructions."""
    return unwinder.rows is not None and unwinder.name in (*TABLES, *_FINDS_ROWS)


_FINDS_ROWS = ("eh_frame_hdr",)  # of another table


def watch_process(run: ProcessRun, progress: Callable[[int], None] = lambda done: None) -> WatchedProcess:
    """Watch every thread of a process. ``progress`` is told how many steps were watched."""
    threads, done = [], 0
    for track in run.tracks:
        threads.append(WatchedThread(track.thread, observe(track.trace), track.begins))
        done += len(track.trace)
        progress(done)
    return WatchedProcess(run, tuple(threads))


def steps_asked(unwinder: Unwinder) -> int:
    """At how many steps of a process a strategy is asked that takes one snapshot at a time."""
    return SAMPLE if unwinder.tool is None else SAMPLE_OF_TOOLS


def judge_process(
    process: WatchedProcess,
    unwinder: Unwinder,
    *,
    evaluate: Evaluate | None = None,
    sample: int | None = None,
    readers: Sequence[Unwinder] = (),
) -> StrategyShare:
    """One strategy, judged. ``evaluate`` computes DWARF expressions of rows; ``readers`` read what tools believe."""
    native = unwinder.soon_judged
    every_step = [np.arange(thread.begins, thread.stop) for thread in process.threads]
    chosen = every_step if native else _sampled(process, sample or steps_asked(unwinder))
    found = joined_shares(
        unwinder,
        [
            judge_thread(thread, unwinder, steps, evaluate, readers)
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
    readers: Sequence[Unwinder] = (),
) -> StrategyShare:
    """One strategy, judged at some steps of one thread; at least one. A place per function and reason."""
    native = unwinder.soon_judged
    if native:
        found = _natively(thread, unwinder, steps, declared_of(thread))
    else:
        tables = traits_of_tables(thread.watched, believed_by(unwinder, readers, thread.watched), evaluate)
        found = _one_by_one(thread, unwinder, steps, declared_of(thread), tables)
    transition = thread.watched.transition[found.steps]
    differ = np.flatnonzero(~transition & (found.outcome != EXACT))
    whole = np.isin(found.outcome, _STOPS) & (found.frame == _depths(thread)[found.steps])
    places, of_step = _places(thread, unwinder, found, differ, evaluate)
    explained = np.zeros(len(steps), np.int32)
    explained[differ] = np.array([place.explained for place in places], np.int32)[of_step]
    counts = counted_columns(found.outcome, transition, cause=explained, causes=("", A_PLACE), whole=whole)
    return _share(unwinder, counts, places)


def joined_shares(unwinder: Unwinder, shares: Sequence[StrategyShare]) -> StrategyShare:
    """Of several threads, or parts of one, together; a place per function and reason."""
    return _share(unwinder, sum(shares, NOTHING_COUNTED), [place for share in shares for place in share.places])


def _share(unwinder: Unwinder, counts: Counts, places: Sequence[WrongPlace]) -> StrategyShare:
    sampled = not unwinder.soon_judged
    return StrategyShare(**vars(counts), name=unwinder.name, sampled=sampled, places=merged_places(places))


def declared_of(thread: WatchedThread) -> frozenset[Trait]:
    """What no header says of a process: whether nothing marks the end of a stack, by the frame pointer there.

    The ABIs ask for a zero. A thread begins with its parent's, a context with that of whoever made it, until their own
    start code clears it; C libraries of 32-bit ARM never do.
    """
    watched = thread.watched
    outermost = watched.activations.parent[watched.node] < 0
    is_open = bool((watched.sites.frame_pointer[: thread.stop][outermost[: thread.stop]] != 0).any())
    return frozenset({Trait.OPEN_END}) if is_open else frozenset()


def _sampled(process: WatchedProcess, count: int) -> list[NDArray[np.int64]]:
    seed = process.threads[0].watched.trace.seed if process.threads else 0
    chosen = sampled_steps(seed, [thread.steps for thread in process.threads], count)
    return [own + thread.begins for own, thread in zip(chosen, process.threads, strict=True)]


def sampled_steps(seed: int, lengths: Sequence[int], count: int) -> list[NDArray[np.int64]]:
    """Of threads of so many steps some of all together, chosen by a run's seed: those of each thread, in order."""
    total = sum(lengths)
    numbers = np.array(sorted(Random(f"steps {seed}").sample(range(total), min(count, total))), np.int64)
    found, before = [], 0
    for length in lengths:
        found.append(numbers[(numbers >= before) & (numbers < before + length)] - before)
        before += length
    return found


def _natively(
    thread: WatchedThread, unwinder: Unwinder, steps: NDArray[np.int64], declared: frozenset[Trait]
) -> _ThreadVerdicts:
    watched = thread.watched
    assert unwinder.unwind_trace is not None
    limits = () if follows_tables(unwinder) else unwinder.limits_on(watched.trace.arch)
    span = (thread.begins, thread.stop)
    said = judge_trace(watched, unwinder.unwind_trace(watched.trace), declared=declared, limits=limits, steps=span)
    return _ThreadVerdicts(steps, said.outcome[steps], said.frame[steps, 0], said.explained[steps])


def _one_by_one(
    thread: WatchedThread,
    unwinder: Unwinder,
    steps: NDArray[np.int64],
    declared: frozenset[Trait],
    tables: TableTraits,
) -> _ThreadVerdicts:
    watched = thread.watched
    arch, limits = watched.trace.arch, unwinder.limits_on(watched.trace.arch)
    outcome, frame = np.empty(len(steps), np.uint8), np.empty(len(steps), np.int32)
    limit = np.full(len(steps), UNEXPLAINED, np.int8)
    for i, step in enumerate(steps.tolist()):

        @cache
        def traits(frame: int, step: int = step) -> LazyTraits:
            return LazyTraits(watched, watched.frame_site(step, frame), declared, tables(step, frame))

        said = unwinder.unwind(watched.trace.snapshot(step))
        transition = bool(watched.transition[step])
        verdict = judge_backtrace(arch, watched.stack(step), said, traits=traits, limits=limits, transition=transition)
        outcome[i], frame[i] = OUTCOMES.index(verdict.outcome), verdict.frame
        if verdict.explained_by is not None:
            limit[i] = limits.index(verdict.explained_by)
    return _ThreadVerdicts(steps, outcome, frame, limit)


def _depths(thread: WatchedThread) -> NDArray[np.int64]:
    """How many callers there are at each step."""
    parents = thread.watched.activations.parent.tolist()
    depth: list[int] = []
    for parent in parents:  # a parent comes before its children
        depth.append(0 if parent < 0 else depth[parent] + 1)
    found: NDArray[np.int64] = np.array(depth, np.int64)[thread.watched.node]
    return found


def _places(
    thread: WatchedThread,
    unwinder: Unwinder,
    found: _ThreadVerdicts,
    wrong: NDArray[np.int64],
    evaluate: Evaluate | None,
) -> tuple[list[WrongPlace], NDArray[np.int64]]:
    """The functions at whose frames it goes wrong, and which of them each wrong step is of."""
    if not len(wrong):
        return [], wrong
    watched = thread.watched
    steps, frames = found.steps[wrong], found.frame[wrong].astype(np.int64)
    sites = frame_sites(watched.trace, watched.activations, watched.node, steps, frames)
    limits = unwinder.limits_on(watched.trace.arch)
    by_table = follows_tables(unwinder)
    tables = ProcessTables(watched, unwinder if by_table else None, evaluate)
    why = tables.masks(sites) if by_table else (found.limit[wrong].astype(np.int64) + 1).astype(np.uint64)
    gave_up = (sites.depth == MOST_FRAMES - 1) & np.isin(found.outcome[wrong], _STOPS)
    why = np.where((why == 0) & gave_up, GAVE_UP, why)
    wrongs = WrongSteps(thread, sites, why, LYING[found.outcome[wrong]])
    return wrong_places(wrongs, tables, None if by_table else tuple(limit.because for limit in limits))
