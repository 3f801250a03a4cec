"""A part of a thread of a long process, as a run: some steps from the first one on that is asked for.

The process ran already, and no step is held. Its thread is made again twice: to find the step, and what only the end of
something tells (`testbed.truth.windows`); then up to the end of the part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.process.process_run import LongProcess, LongThread
from testbed.profiling.result import WatchedThread
from testbed.profiling.thread_run import ThreadRun, located_in, number_asked, thread_run, threads_named
from testbed.profiling.whose_code import own_steps
from testbed.runs.run import executed_near, visited
from testbed.trace import Writes
from testbed.trace.chunk import SPARE, Chunk
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.errors import UsageError

Bools = NDArray[np.bool_]
Progress = Callable[[int], None]  # told how many steps are done


class _Search:
    """The step of a thread at which something is there for the ``visit``-th time. ``at`` is -1 where there is none."""

    def __init__(self, wanted: Callable[[Window], Bools], visit: int = 1) -> None:
        self.wanted, self.visit = wanted, visit

    def over(self, passed: Iterable[Window]) -> Iterator[Window]:
        """The same windows."""
        self.at, self.seen = -1, 0
        for window in passed:
            found = np.flatnonzero(self.wanted(window))
            if self.seen < self.visit <= self.seen + len(found):
                self.at = window.first + int(found[self.visit - self.seen - 1])
            self.seen += len(found)
            yield window


def part_of_own_code(process: LongProcess, most: int, progress: Progress) -> ThreadRun:
    """Up to ``most`` steps of the first thread, from a little before the program's own code on; without any the first
    ones.
    """
    return _part(
        process,
        process.threads[0],
        _Search(lambda window: own_steps(window.trace, window.start, window.stop)),
        most,
        progress,
    )[0]


def part_at(process: LongProcess, location: str, progress: Progress, most: int) -> tuple[ThreadRun, int]:
    """The part of a thread that has a location, of some ``most`` steps, and its row there, as
    `testbed.profiling.thread_run.thread_at` has it."""
    threads, place = threads_named(process.threads, location)
    refused: list[tuple[tuple[int, int], UsageError]] = []
    for thread in threads:
        number = number_asked(place, thread.steps)
        if number is not None:
            numbered = _Search(lambda window, number=number: np.arange(window.first, window.end) == number)  # type: ignore[misc]
            return _part(process, thread, numbered, most, progress)
        pcs, visit = located_in(process.run, place)
        near: dict[int, int] = {}

        def executed(window: Window, pcs: Sequence[int] = pcs, near: dict[int, int] = near) -> Bools:
            near |= executed_near(window.trace, pcs)
            return np.isin(window.trace.pc[window.start : window.stop], np.array(pcs, np.uint64))

        search = _Search(executed, visit)
        run, row = _part(process, thread, search, most, progress)
        if search.at >= 0:
            return run, row
        refused.append(((search.seen, len(near)), UsageError(visited(place, pcs, search.seen, run.trace, near))))
    raise max(refused, key=lambda each: each[0])[1]


def _part(
    process: LongProcess, thread: LongThread, search: _Search, most: int, progress: Progress
) -> tuple[ThreadRun, int]:
    """The part of a thread that begins with the piece that has a step, and that step's row."""
    known = survey(lambda: search.over(windows(process.chunks(thread))), progress)
    step = max(search.at, 0)
    for truth, _ in watch(windows(_joined_from(process.chunks(thread), step, most)), known):
        window = truth.window
        progress(known.steps + window.end)
        if window.end > step:
            break
    for others in (slice(0, window.start), slice(window.stop, None)):
        truth.sites.transition[others] = True  # nobody is judged there
    part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
    return thread_run(process.run, part, thread.steps), window.row(step)


def _joined_from(chunks: Iterable[Chunk], step: int, most: int) -> Iterator[Chunk]:
    """Chunks of a thread; those from the one on that has a step are one, of about ``most`` steps, and the last."""
    held: list[Chunk] = []
    for chunk in chunks:
        if chunk.first + len(chunk) <= step:
            yield chunk
            continue
        held.append(chunk)
        if sum(map(len, held)) + len(chunk) > most or chunk.end is not None:
            yield _joined(held)
            return


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks that follow each other, as one."""
    begins = [chunk.first - chunks[0].first for chunk in chunks]
    traces = [chunk.trace for chunk in chunks]
    table = np.concatenate([chunks[0].table[:SPARE], *(chunk.table[SPARE:] for chunk in chunks)])
    lengths = np.concatenate([chunks[0].lengths[:SPARE], *(chunk.lengths[SPARE:] for chunk in chunks)])
    pairs = list(zip(begins, traces, strict=True))
    trace = replace(
        traces[0],
        registers=table[SPARE:],
        sizes=lengths[SPARE:],
        writes=Writes.joined([replace(t.writes, step=t.writes.step + np.uint32(begin)) for begin, t in pairs]),
        end=traces[-1].end,
        taken_over=tuple(row + begin for begin, t in pairs for row in t.taken_over),
    )
    return replace(chunks[0], trace=trace, end=chunks[-1].end, table=table, lengths=lengths)
