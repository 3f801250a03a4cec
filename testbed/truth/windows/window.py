"""A long run cut into windows: what each step's facts are seen from.

A window has some steps to say something about, the row before them and up to two after them: a call to the next address
is told from a pop by the two steps that follow. Rows of earlier steps may be put in front (``rows_before``): those at
which the activations were opened that are still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Exited, Trace, Writes
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.trace import SPARE, Checkpoint, Chunk
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
