"""A piece of a long run: a trace of its own, which any number of others may come before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.trace.memory import Region
from testbed.trace.trace import Exited, Trace
from testbed.words.errors import EmulationError


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
