"""One recording of all threads, split into a track per thread.

A track holds the steps of its thread only, and all writes, of whomever: each is numbered by the last step of the thread
before it was made, after which it is visible. What was written before a thread began is in its initial memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.image import LoadedImage
from testbed.machine.recording import told_ending
from testbed.machine.stops import Fault
from testbed.process.threads import GuestThread
from testbed.trace import Exited, Region, Trace, Writes
from testbed.trace.rolling_memory import RollingMemory

Pieces = Sequence[tuple[int, int]]
NEAR = 256  # bytes that SP moves without a switch to another stack


@dataclass(frozen=True, eq=False)
class Track:
    """What one thread did, as an ordinary trace.

    The steps before ``begins`` are another thread's: those of the parent on whose stack a vforked child goes on.
    """

    thread: int
    trace: Trace
    begins: int = 0

    def __str__(self) -> str:
        own = len(self.trace) - self.begins
        return f"thread {self.thread}: {own} steps" + (f", after {self.begins} of its parent" if self.begins else "")


@dataclass(frozen=True, eq=False)
class WholeRecording:
    """All threads' steps in the order in which they were executed."""

    arch: Arch
    images: tuple[LoadedImage, ...]
    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    initial: tuple[Region, ...] = field(repr=False)
    resumed: tuple[tuple[GuestThread, int], ...] = ()
    seed: int = 1


@dataclass(frozen=True, slots=True)
class LeftStacks:
    """Where threads left stacks: the thread that did so last, by SP. ``last`` is SP of each thread."""

    word: int
    left: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def taken_over(self, sp: NDArray[np.uint64], pieces: Mapping[int, Pieces]) -> dict[int, list[int]]:
        """By thread, the steps at which its SP comes from afar to where another thread's went away.

        There, or one word further up, where the call of who switched away had put its return address.
        """
        leaps: list[tuple[int, int, int]] = []
        for number, spans in pieces.items():
            steps = np.concatenate([np.arange(a, b) for a, b in spans])
            earlier = np.concatenate((sp[steps[:1]], sp[steps[:-1]]))
            earlier[0] = self.last.get(number, earlier[0])
            far = np.flatnonzero(sp[steps] - earlier + np.uint64(NEAR) > np.uint64(2 * NEAR))
            leaps += zip(steps[far].tolist(), earlier[far].tolist(), [number] * len(far), strict=True)
            self.last[number] = int(sp[steps[-1]])
        found: dict[int, list[int]] = {}
        for step, before, number in sorted(leaps):
            came = int(sp[step])
            if {self.left.pop(place, number) for place in (came, came - self.word)} != {number}:
                found.setdefault(number, []).append(step)
            self.left[before] = number
        return found


def tracks_of(
    whole: WholeRecording, threads: Sequence[GuestThread], end: Exited | str, last: GuestThread
) -> tuple[Track, ...]:
    """A track per thread that executed anything. ``end`` is how the process ended, while ``last`` was running."""
    found, starts = {}, _StartingMemory(whole)
    spans = {thread.number: thread.pieces for thread in threads if thread.pieces}
    taken = LeftStacks(whole.arch.word).taken_over(whole.registers[:, whole.arch.index[whole.arch.sp]], spans)
    own = {thread.number: (*thread.after, *thread.pieces) for thread in threads if thread.pieces}
    by_number = {thread.number: thread for thread in threads}
    for number, pieces in sorted(own.items(), key=lambda item: item[1][0][0]):  # memory is rolled forward once
        thread = by_number[number]
        trace = _trace(whole, thread, pieces, starts, ending_of(thread, end, last), taken.get(number, ()))
        found[number] = Track(number, trace, sum(b - a for a, b in thread.after))
    return tuple(found[number] for number in own)


def ending_of(thread: GuestThread, end: Exited | str, last: GuestThread) -> Exited | Fault:
    """How a thread ended: by itself, or with the process."""
    if thread.status is not None:
        return Exited(thread.status)
    if isinstance(end, Exited):
        return end
    return Fault(end if thread is last else f"the process ended meanwhile: {end}")


class _StartingMemory:
    """Memory as it is when a thread begins, asked for in the order in which they do."""

    def __init__(self, whole: WholeRecording) -> None:
        self._whole, self._done = whole, 0
        self._rolling: RollingMemory | None = None

    def after(self, writes: int) -> tuple[Region, ...]:
        """After that many entries of the journal."""
        if not writes:
            return self._whole.initial
        if self._rolling is None:
            self._rolling = RollingMemory(self._whole.initial)
        self._rolling.apply(self._whole.writes.part(self._done, writes))
        self._done = writes
        return self._rolling.regions()


def _trace(
    whole: WholeRecording,
    thread: GuestThread,
    pieces: Pieces,
    starts: _StartingMemory,
    ending: Exited | Fault,
    taken_over: Sequence[int],
) -> Trace:
    registers, sizes, writes, initial = whole.registers, whole.sizes, whole.writes, whole.initial
    if list(pieces) != [(0, len(sizes))]:
        registers = np.concatenate([registers[a:b] for a, b in pieces])
        sizes = np.concatenate([sizes[a:b] for a, b in pieces])
        before = int(np.searchsorted(writes.step, pieces[0][0]))
        initial = starts.after(before)
        later = writes.part(before, int(np.searchsorted(writes.step, pieces[-1][1] - 1, "right")))
        numbers = own_steps(pieces, later.step.astype(np.int64)).astype(np.uint32)
        writes = Writes(numbers, later.address, later.size, later.value)
    resumed = own_steps(pieces, np.array([step for who, step in whole.resumed if who is thread], np.int64) - 1) + 1
    trace = Trace(
        whole.arch,
        whole.images,
        registers,
        sizes,
        writes,
        initial,
        end=Exited(0),  # known below: an error is told with what was recorded
        seed=whole.seed,
        resumed=tuple(step for step in resumed.tolist() if step < len(sizes)),
        taken_over=tuple(own_steps(pieces, np.array(taken_over, np.int64)).tolist()),
    )
    object.__setattr__(trace, "end", told_ending(trace, ending))
    return trace


def own_steps(pieces: Pieces, steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """For steps of the whole recording: the last one in these pieces that is not after it, counted in them; or -1."""
    starts = np.array([start for start, _ in pieces], np.int64)
    lengths = np.array([end - start for start, end in pieces], np.int64)
    before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    piece = np.searchsorted(starts, steps, "right") - 1
    inside = np.minimum(steps - starts[piece] + 1, lengths[piece])
    return np.where(piece < 0, -1, before[piece] + inside - 1)
