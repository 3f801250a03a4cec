"""A recorded run, or a piece of one, in columns: a row of registers per executed instruction, a journal of writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch, Isa
from testbed.image import LoadedImage
from testbed.native.compiled import sooner
from testbed.trace.memory import History, Memory, Region, WordHistory, Writes
from testbed.trace.snapshot import Snapshot
from testbed.words.errors import EmulationError

LAST_BIT = 63


@dataclass(frozen=True, slots=True)
class Exited:
    """The program made its exit system call with this status."""

    status: int


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything that was recorded of one run.

    ``registers[k]`` is the state *before* instruction ``k`` executes, one column per ``arch.registers``;
    ``sizes[k]`` is that instruction's length in bytes; 0 where a signal arrived instead, so that the next step is the
    first one of its handler. ``resumed`` are the steps that go on after a signal, with the registers of its frame;
    ``taken_over`` those at which SP is where another thread left a stack. Memory at ``k`` is ``initial`` plus every
    write with ``step < k``. ``end`` is how the run ended: an exit, or the error that stopped it (what was recorded
    before stays valid). ``planted`` are the values given to the callee-saved registers before entry, from ``seed``.
    """

    arch: Arch
    images: tuple[LoadedImage, ...]
    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    initial: tuple[Region, ...] = field(repr=False)
    end: Exited | EmulationError
    seed: int
    resumed: tuple[int, ...] = ()
    taken_over: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.registers)

    def __repr__(self) -> str:
        return f"<Trace {self}>"

    def __str__(self) -> str:
        return f"{len(self)} steps on {self.arch}, {len(self.writes)} writes, {self.end}"

    def column(self, register: str) -> NDArray[np.uint64]:
        """One register's value at every step."""
        return self.registers[:, self.arch.index[register]]

    # These two are read many times, and in the rows they lie far apart: kept in one piece.

    @cached_property
    def pc(self) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self.column(self.arch.pc))

    @cached_property
    def sp(self) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self.column(self.arch.sp))

    @cached_property
    def changed(self) -> NDArray[np.uint64]:
        """Which registers are not what they were at the step before, as `changed_bits`; at step 0 all of them."""
        from testbed.trace.native import note_changes

        out = np.empty(len(self), np.uint64)
        sooner(note_changes, len(self))(np.asarray(self.registers), out)
        return out

    def interrupted(self, step: int) -> bool:
        """True where a signal arrived before the instruction at ``step`` could execute."""
        return not self.sizes[step]

    @cached_property
    def history(self) -> History:
        return History(self.initial, self.writes)

    @cached_property
    def words(self) -> WordHistory:
        """Words of memory before many steps at once."""
        return WordHistory(self.arch.word, self.initial, self.writes)

    def memory(self, step: int) -> Memory:
        """Memory as it was before ``step`` executed."""
        return Memory(self.history, step)

    def isa(self, step: int) -> Isa:
        """The instruction set that executes ``step``."""
        return self.arch.isa_of_flags(int(self.registers[step, self.arch.index[self.arch.flags]]))

    def snapshot(self, step: int) -> Snapshot:
        """The machine before ``step`` executes: registers by name, memory, images."""
        values = self.registers[step].tolist()
        registers = dict(zip(self.arch.index, values, strict=True))
        return Snapshot(self.arch, registers, self.memory(step), self.images, step, self.arch.signature)


def changed_bits(columns: Iterable[int]) -> int:
    """Columns of registers as bits of a word; all from LAST_BIT on share that one."""
    return reduce(or_, (1 << min(column, LAST_BIT) for column in columns), 0)


# A piece of a long run: a trace of its own, which any number of others may come before.


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The machine before step ``first``: enough to go on from there without the steps before it.

    ``start`` is the address to go on from, with the bit that a code pointer to it has; ``context`` are all registers of
    the processor, as the emulator keeps them, None where a file has the steps.
    """

    first: int
    memory: tuple[Region, ...] = field(repr=False)
    start: int = 0
    context: Any = field(repr=False, default=None)


@dataclass(frozen=True, eq=False)
class Chunk:
    """The steps from ``first`` on. ``trace`` counts its steps from 0, and its initial memory is that of its start.

    ``table`` and ``lengths`` are the columns with room for SPARE rows before the first step. They may be written over
    once the chunk after the next one is asked for: what is kept of them is copied. ``end`` is None where the run goes
    on.
    """

    first: int
    trace: Trace = field(repr=False)
    end: Exited | EmulationError | None
    table: NDArray[np.uint64] = field(repr=False)
    lengths: NDArray[np.uint8] = field(repr=False)
    start: int = 0
    context: Any = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.trace)

    @property
    def keyframe(self) -> Checkpoint:
        """Where this chunk begins."""
        return Checkpoint(self.first, self.trace.initial, self.start, self.context)


SPARE = 1 << 12
CHUNK = 1 << 16  # steps of a chunk: more are no faster and take more memory, fewer than a half cost more each
ROWS = 12_000_000  # bytes that a chunk's registers take at most, where nobody says how many steps it is to have
HELD = 2  # chunks whose columns are there at once
HELD_BY_THREADS = 5  # where one thread records, one watches what another one judges
Chunks = Callable[[Checkpoint | None], Iterator[Chunk]]  # from a keyframe on, or from the start; as often as asked


def usual_chunk(arch: Arch) -> int:
    """The steps of a chunk where nobody says how many: fewer where an architecture has many registers."""
    return min(CHUNK, ROWS // (8 * len(arch.registers)))
