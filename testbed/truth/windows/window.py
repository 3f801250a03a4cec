"""A long run cut into windows, what each step's facts are seen from; and what only the end of a run can tell.

A window has some steps to say something about, the row before them and up to two after them: a call to the next address
is told from a pop by the two steps that follow. Rows of earlier steps may be put in front (``rows_before``): those at
which the activations were opened that are still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Exited, Trace, Writes
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.trace import SPARE, Checkpoint, Chunk
from testbed.truth.events import Words
from testbed.truth.native import state as names
from testbed.truth.path import FollowedRows, RowReading
from testbed.words.budget import LEAST
from testbed.words.errors import EmulationError

AFTER = 2  # rows after a window's steps


@dataclass(frozen=True, eq=False)
class Held:
    """The last rows of a chunk, with their writes, that the next window begins with; memory as it was before them.

    The first ``before`` of them, one or none, belong to an earlier window.
    """

    rows: NDArray[np.uint64] = field(repr=False)
    lengths: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    before: int
    memory: RollingMemory = field(repr=False)
    taken_over: tuple[int, ...] = ()

    @classmethod
    def nothing(cls, chunk: Chunk) -> Held:
        """Before a run's first chunk."""
        rows, writes = chunk.trace.registers[:0].copy(), _cut(chunk.trace.writes, 0, 0, 0)
        return cls(rows, chunk.trace.sizes[:0].copy(), writes, 0, RollingMemory(chunk.trace.initial))


@dataclass(frozen=True, eq=False)
class Window:
    """The steps from ``first`` to ``end``. ``trace`` has them in the rows from ``start`` to ``stop``.

    ``context`` rows come first in it; its memory is that of the row behind them. ``ending`` is None where the run goes
    on. ``held`` and ``keyframe`` are where the window begins: with them it can be made again.
    """

    first: int
    start: int
    stop: int
    trace: Trace = field(repr=False)
    ending: Exited | EmulationError | None
    context: int
    held: Held = field(repr=False)
    keyframe: Checkpoint = field(repr=False)
    _table: NDArray[np.uint64] = field(repr=False)
    _lengths: NDArray[np.uint8] = field(repr=False)
    _low: int = field(repr=False)

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def end(self) -> int:
        return self.first + len(self)

    def row(self, step: int) -> int:
        """Where a step of this window is in the trace."""
        return step - self.first + self.start

    def with_context(self, rows: NDArray[np.uint64], sizes: NDArray[np.uint8]) -> Window:
        """The same with rows before all others; they count as instructions that wrote nothing."""
        count, trace, low = len(rows), self.trace, self._low
        if count <= low:
            table, lengths = self._table, self._lengths
        else:  # no room for that many in front of the columns
            table = np.concatenate((np.empty((count, rows.shape[1]), np.uint64), self._table[low:]))
            lengths = np.concatenate((np.empty(count, np.uint8), self._lengths[low:]))
            low = count
        table[low - count : low] = rows
        lengths[low - count : low] = sizes
        writes = replace(trace.writes, step=trace.writes.step + np.uint32(count))
        after = replace(trace, registers=table[low - count :], sizes=lengths[low - count :], writes=writes)
        arch = trace.arch
        for name, kept in (("pc", rows[:, arch.index[arch.pc]]), ("sp", rows[:, arch.index[arch.sp]])):
            vars(after)[name] = np.concatenate((kept, getattr(trace, name)))  # cheaper than from all rows
        if "changed" in vars(trace):
            vars(after)["changed"] = np.concatenate((np.full(count, ~np.uint64(0)), trace.changed))
        trace = after
        return replace(self, start=self.start + count, stop=self.stop + count, trace=trace, context=count)


def windows(chunks: Iterable[Chunk], held: Held | None = None) -> Iterator[Window]:
    """Windows of all steps, one per chunk; each is valid until the next one is asked for.

    ``held`` is that of the window to go on with. Every chunk but the last has at least LEAST steps.
    """
    for chunk in chunks:
        assert chunk.end is not None or len(chunk) >= LEAST, "a chunk that is shorter than what is looked ahead"
        if held is None:
            held = Held.nothing(chunk)
        rows, before, low = len(held.rows), held.before, SPARE - len(held.rows)
        table, lengths = chunk.table, chunk.lengths
        if rows:
            table[low:SPARE], lengths[low:SPARE] = held.rows, held.lengths
        own = chunk.trace.writes
        writes = Writes.joined((held.writes, replace(own, step=own.step + np.uint32(rows))))
        count = rows + len(chunk)
        stop = count if chunk.end is not None else count - AFTER
        trace = replace(
            chunk.trace,
            registers=table[low:],
            sizes=lengths[low:],
            writes=writes,
            initial=held.memory.regions(),
            taken_over=(*held.taken_over, *(row + rows for row in chunk.trace.taken_over)),
        )
        if stop > before:
            first = chunk.first - rows + before
            yield Window(first, before, stop, trace, chunk.end, 0, held, chunk.keyframe, table, lengths, low)
        keep = stop - 1  # the next window's row before
        over = int(np.searchsorted(writes.step, keep))
        memory = RollingMemory(held.memory.regions())
        memory.apply(_cut(writes, 0, over, 0))
        held = Held(
            table[low + keep :].copy(),
            lengths[low + keep :].copy(),
            _cut(writes, over, len(writes), keep),
            1,
            memory,
            tuple(row - keep for row in trace.taken_over if row >= keep),
        )


def _cut(writes: Writes, first: int, end: int, steps: int) -> Writes:
    """A part of a journal, ``steps`` steps earlier."""
    return Writes(
        writes.step[first:end] - np.uint32(steps),
        writes.address[first:end].copy(),
        writes.size[first:end].copy(),
        writes.value[first:end].copy(),
    )


# What only the end of a long run can tell of its steps: found out the first time, known the second time.


@dataclass(eq=False)
class Known:
    """What is found out about a run of which one window is looked at after the other.

    ``readings`` are of the rows that a later window read in another way, ``before`` those of the passes before;
    activations and other rows go by their number in the run.
    ``transitions`` are the ranges of steps that a jump in a later window made one of.
    ``goes_on`` is where control went when an activation of more than one window was over, if not to its return
    address; ``returns`` are the return addresses of all activations. ``revised`` are ranges of steps of which a later
    window said something else than what was known when they were looked at. None of this grows with the length of the
    run alone: with its depth, its code, and the number of windows.
    """

    readings: dict[int, RowReading] = field(default_factory=dict)
    before: Mapping[int, RowReading] = field(default_factory=dict)
    transitions: list[tuple[int, int]] = field(default_factory=list)
    returns: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    goes_on: dict[int, int] = field(default_factory=dict)
    revised: list[tuple[int, int]] = field(default_factory=list)
    steps: int = 0
    windows: int = 0
    ending: Exited | EmulationError | None = None

    def holds(self, first: int, end: int) -> bool:
        """Has no later window said anything else of the steps from ``first`` to ``end``?"""
        return not any(begin < end and stop > first for begin, stop in self.revised)

    def note(self, found: FollowedRows, before: Mapping[int, RowReading], gone_on: Words, first: int, end: int) -> None:
        """Take down what a window from step ``first`` to ``end`` says of earlier ones: how rows were read ``before``,
        and where the first ones had ``gone_on``."""
        old = len(gone_on)
        opened, serial = found.column(names.OPENED), found.column(names.SERIAL)
        now = found.readings()
        rows = dict(zip(serial[:old].tolist(), range(old), strict=True))
        for number in now.keys() & rows.keys():
            if now[number] != before.get(number):
                self.readings[number] = now[number]
                self.revised.append((int(opened[rows[number]]), first))
        own = found.whose == np.arange(len(found))
        self.returns = _with_more(self.returns, np.unique(found.returns[own & (found.parent >= 0)]))
        went = found.addresses(names.GOES_ON)[:old]
        for index in np.flatnonzero(went != gone_on).tolist():
            self.goes_on[int(serial[index])] = int(went[index])
            self.revised.append((int(opened[index]), end))


def _with_more(known: Words, more: Words) -> Words:
    """Both, in order; the very same array where there is nothing new."""
    if len(known):
        more = more[known[np.minimum(np.searchsorted(known, more), len(known) - 1)] != more]
    return np.union1d(known, more) if len(more) else known
