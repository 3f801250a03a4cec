"""A thread of a process, or a part of a long one, as a run: what shows a step or draws a page shows it as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from testbed.build import Built
from testbed.build.recipes import PREBUILT
from testbed.image import Image, LoadedImage
from testbed.image.debug import debug_info
from testbed.image.symbols import near_names
from testbed.process import ProcessRun
from testbed.process.process_run import LongProcess, LongThread
from testbed.profiling.result import CodePart, WatchedProcess, WatchedThread, own_steps
from testbed.program.header import Header
from testbed.program.model import Language, Program, Source
from testbed.runs.places import addresses_at, has_lines_of, inlined_at, located, missing, place_of
from testbed.runs.run import Run, executed_near, visited
from testbed.trace import Writes
from testbed.trace.trace import SPARE, Chunk
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.errors import UsageError

AnyThread = TypeVar("AnyThread", WatchedThread, LongThread)
_IN_FILE = re.compile(r"^(?P<file>[^:#]+)\+0x(?P<offset>[0-9a-fA-F]{1,16})(?:#(?P<visit>\d{1,9}))?$")


@dataclass(frozen=True, eq=False)
class ThreadRun(Run):
    """One thread, or a part of it, whose steps are rows of its trace from ``thread.begins`` on. All of the thread has
    ``steps``.
    """

    process: ProcessRun
    thread: WatchedThread
    steps: int

    def __str__(self) -> str:
        name, thread = f"{self.process.path.name} · {self.arch}", self.thread.number
        return f"{name} · thread {thread}: {self.steps:,} steps, {self.process.ending}"

    @property
    def steps_shown(self) -> str:
        """How many steps of the thread these are, and of a part which ones."""
        first, count = self.thread.first, self.thread.steps
        if count == self.steps:
            return f"{count:,} steps"
        return f"{count:,} steps, @{first} to @{first + count - 1}, of its {self.steps:,}"

    @property
    def unseen(self) -> int:
        return self.thread.begins if self.thread.first else 0

    @property
    def shown(self) -> range:
        return range(self.thread.begins, self.thread.stop)

    def number_of(self, row: int) -> int:
        return row - self.thread.begins + self.thread.first

    def row_of(self, number: int) -> int:
        """Where a step of the thread is in the trace."""
        return number - self.thread.first + self.thread.begins

    @property
    def ending(self) -> str:
        return self.process.ending

    @property
    def failure(self) -> str:
        return ""

    @cached_property
    def _of_own_code(self) -> NDArray[np.bool_]:
        codes, of_step = self.thread.code
        found = np.zeros(len(self), np.bool_)
        found[self.thread.begins : self.thread.stop] = np.array([code.part is CodePart.OWN for code in codes])[of_step]
        return found

    @property
    def own(self) -> NDArray[np.bool_]:
        """Of each row of the trace whether it is a step of the program's own code; of a thread without any, all are."""
        if self._of_own_code.any():
            return self._of_own_code
        return np.isin(np.arange(len(self)), self.shown)

    @cached_property
    def called(self) -> NDArray[np.bool_]:
        """Of each row of the trace whether it is such a step, and a caller is of the program's own code."""
        return self.own & (self.thread.reach[self.watched.node] > 0)

    @property
    def whose(self) -> str:
        """Whose code those steps are of."""
        return "your code" if self._of_own_code.any() else "start-up and libraries (your code did not run yet)"

    def step_at(self, location: str) -> int:
        """As `Run.step_at`, in the program and in every library that was loaded; ``@N`` counts the thread's steps."""
        number = number_asked(location, self.steps)
        return super().step_at(location) if number is None else self.row_of(number)

    def located(self, location: str) -> tuple[list[int], int]:
        return located_in(self.process, location)

    @property
    def loaded(self) -> LoadedImage:
        return program_of(self.process)


def number_asked(location: str, steps: int) -> int | None:
    """The number of a step that is asked for as ``@N``, or None. Raises UsageError where a thread has not so many."""
    if not (location.startswith("@") and location[1:].isdecimal()):
        return None
    if len(location) > 16 or int(location[1:]) >= steps:
        raise UsageError(f"{location[:60]}: this thread has the steps @0 to @{steps - 1}")
    return int(location[1:])


def program_of(run: ProcessRun) -> LoadedImage:
    """The program of a process, where it was loaded."""
    return next((each for each in run.images if each.image.path == run.path), run.images[0])


def located_in(run: ProcessRun, location: str) -> tuple[list[int], int]:
    """The pcs and the visit that a location names, in the program or else in a library.

    Also ``libc.so.6+0x3c050``, as places without a symbol are called. Raises UsageError for none.
    """
    try:
        return located([program_of(run), *run.images], location)
    except UsageError:
        if in_file := _IN_FILE.match(location):
            for loaded in run.images:
                if loaded.image.path.name == in_file["file"]:
                    return [loaded.bias + int(in_file["offset"], 16)], int(in_file["visit"] or 1)
        raise


def thread_run(run: ProcessRun, thread: WatchedThread, steps: int | None = None) -> ThreadRun:
    """A thread as a run of the process's program file; of a part of a thread, all of it has ``steps``."""
    image, trace = program_of(run).image, thread.watched.trace
    source = Source(
        run.path, Language.ELF, None, "", Header(summary=f"thread {thread.number} of {run.path}", exit=None)
    )
    built = Built(
        program=Program(run.path.stem, MappingProxyType({"elf": source})),
        arch=image.arch,
        recipe=replace(PREBUILT, name="a process"),
        isa=image.isa_at(image.entry),
        source=source,
        path=run.path,
        image=image,
    )
    return ThreadRun(built, trace, thread.watched, run, thread, thread.steps if steps is None else steps)


def look_ahead(image: Image, location: str) -> str:
    """Before a process runs: that its program does not have a place, and a library may have it; that a line has no code
    of its own; or "".

    Raises UsageError where none can have it: it is no location, there will be no library, or the source is the
    program's own.
    """
    number, found, rest = location.partition(":")
    location = rest if found and number.isdecimal() else location
    if location.startswith("@") or _IN_FILE.match(location):
        return ""
    place = place_of(location)
    if addresses := addresses_at(image, place) or inlined_at(image, place):
        there = debug_info(image).line_at(addresses[0]) if place.line is not None else None
        shown = there is not None and there.line != place.line
        return f"{location[:60]} has no code of its own: shown is {there.name}:{there.line}" if shown and there else ""
    if ".interp" not in image.sections or has_lines_of(image, place.name.rstrip(":")):
        raise UsageError(f"{location[:60]}: {missing([image], place)}")
    near = near_names(image, place.name) if place.line is None else ()
    meant = f" (did you mean {', '.join(near)}?)" if near else ""
    return f"{location[:60]} is not in {image}{meant}: its libraries are looked in as it runs"


def thread_at(process: WatchedProcess, location: str) -> tuple[ThreadRun, int]:
    """The thread and its row at ``LOCATION``, in the first thread that comes there, or at ``THREAD:LOCATION``.

    Raises UsageError where no thread does.
    """
    threads, place = threads_named(process.threads, location)
    refused: list[tuple[tuple[int, int], UsageError]] = []
    for run in [thread_run(process.run, thread) for thread in threads]:
        try:
            return run, run.step_at(place)
        except UsageError as error:  # another thread may come there
            refused.append((run.times(place), error))
    raise max(refused, key=lambda each: each[0])[1]


def threads_named(threads: Sequence[AnyThread], location: str) -> tuple[Sequence[AnyThread], str]:
    """The threads in which ``LOCATION`` or ``THREAD:LOCATION`` is looked for, and the location in them."""
    number, found, place = location.partition(":")
    if not (found and number.isdecimal()):
        return threads, location
    named = [thread for thread in threads if str(thread.number) == number]
    if not named:
        known = ", ".join(str(thread.number) for thread in threads)
        raise UsageError(f"{location}: no thread {number}; there are {known}")
    return named, place


# A part of a thread of a long process, as a run: some steps from the first one on that is asked for.
#
# The process ran already, and no step is held. Its thread is made again twice: to find the step, and what only the end
# of something tells (`testbed.truth.windows`); then up to the end of the part.

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
