"""A thread of a process as a run: what shows one step, or draws a page of all, shows a thread as well."""

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
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.process import ProcessRun
from testbed.process.process_run import LongProcess, LongThread
from testbed.profiling.judge import Judging, sampled_steps, steps_asked
from testbed.profiling.result import CountedProcess, CountedThread, UnwinderShare, WatchedProcess, WatchedThread
from testbed.profiling.whose_code import CodePart, own_steps
from testbed.program.header import Header
from testbed.program.model import Language, Program, Source
from testbed.runs.places import addresses_at, has_lines_of, inlined_at, located, missing, place_of
from testbed.runs.run import Run
from testbed.trace.chunk import Chunk
from testbed.truth.windows.known import Known
from testbed.truth.windows.watch import survey, watch
from testbed.truth.windows.window import Window, windows
from testbed.words.budget import give_back
from testbed.words.errors import UsageError

# A process that is too long to hold, judged in pieces: each is watched, judged, and given up for the next one.
#
# Every thread is watched twice, as `testbed.truth.windows` needs it; the counts are those of the whole process. So are
# the steps at which unwinders are asked that take one snapshot at a time: chosen by the seed, of all threads together.


def judge_in_pieces(
    process: LongProcess,
    unwinders: Sequence[Unwinder],
    *,
    sample: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[CountedProcess, list[UnwinderShare]]:
    """Every thread, counted, and every unwinder, as `judge_process` has it.

    ``progress`` is told how many steps are done, of two passes over each thread.
    """
    judgings = [Judging(unwinder) for unwinder in unwinders]
    surveys: list[Known] = []
    own = []
    sampling = not all(each.soon_judged for each in unwinders)
    for thread in process.threads:
        parts: list[NDArray[np.bool_]] = []
        own.append(parts)

        def passed(thread: LongThread = thread, parts: list[NDArray[np.bool_]] = parts) -> Iterator[Window]:
            chunks = process.chunks(thread)
            return _with_own(chunks, parts) if sampling else windows(chunks)

        before = sum(known.steps for known in surveys)
        surveys.append(survey(passed, lambda step, before=before: progress(before + step)))  # type: ignore[misc]
    asked = [
        None if each.soon_judged else sampled_steps(process.inputs.seed, own, sample or steps_asked(each))
        for each in unwinders
    ]
    counted: list[CountedThread] = []
    pieces = 0
    for number, (thread, known) in enumerate(zip(process.threads, surveys, strict=True)):
        pieces = max(pieces, known.windows)
        steps = activations = transition = undecided = 0
        for piece, (truth, _) in enumerate(watch(windows(process.chunks(thread)), known)):
            window = truth.window
            part = WatchedThread(thread.number, truth, window.start, window.stop, window.first)
            for judging, sampled in zip(judgings, asked, strict=True):
                judging.add(part, _rows(window, None if sampled is None else sampled[number]))
            steps, activations = steps + part.steps, activations + part.activations
            transition, undecided = transition + part.transition, undecided + part.undecided
            progress(sum(known.steps for known in surveys) + sum(each.steps for each in counted) + steps)
            if piece % 16 == 0:  # pages that were given back cost as much as they did at first
                give_back()
        counted.append(CountedThread(thread.number, steps, activations, transition, undecided))
    return CountedProcess(process.run, tuple(counted), pieces), [judging.share for judging in judgings]


def _with_own(chunks: Iterable[Chunk], own: list[NDArray[np.bool_]]) -> Iterator[Window]:
    """The windows of a thread; of each it is noted which steps are of the program's own code."""
    own.clear()
    for window in windows(chunks):
        own.append(own_steps(window.trace, window.start, window.stop))
        yield window


def _rows(window: Window, steps: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Where some of a thread's steps, or all, are in a window of it."""
    if steps is None:
        return np.arange(window.start, window.stop)
    return steps[(steps >= window.first) & (steps < window.end)] - window.first + window.start


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
    """Before a process runs: that its program does not have a place, and a library may have it; or "".

    Raises UsageError where none can have it: it is no location, there will be no library, or the source is the
    program's own.
    """
    number, found, rest = location.partition(":")
    location = rest if found and number.isdecimal() else location
    if location.startswith("@") or _IN_FILE.match(location):
        return ""
    place = place_of(location)
    if addresses_at(image, place) or inlined_at(image, place):
        return ""
    if ".interp" not in image.sections or (place.line is not None and has_lines_of(image, place.name)):
        raise UsageError(f"{location[:60]}: {missing([image], place)}")
    return f"{location[:60]} is not in {image}: its libraries are looked in as it runs"


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
