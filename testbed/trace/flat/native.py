"""Memory as compiled code sees it: one flat copy, moved along with the steps of a trace by its journal of writes.

numba, and numpy too, turn an expression of uint64 and int64 into float64: addresses and values are uint64 here, places
in the copy int64, and each conversion is written down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.native.compiled import compiled


class FlatMemory(NamedTuple):
    """Mapped regions, each with its place in the flat copy, which is seen as bytes, 8-byte words and 4-byte words.

    A region's place keeps its address's offset within a granule of 8. ``marks`` has a byte per granule: was it read.
    """

    starts: NDArray[np.uint64]
    sizes: NDArray[np.uint64]
    places: NDArray[np.int64]
    octets: NDArray[np.uint8]
    words: NDArray[np.uint64]
    halves: NDArray[np.uint32]
    marks: NDArray[np.uint8]


class SweptWrites(NamedTuple):
    """A trace's writes, in order. ``applied[0]`` of them are in the flat copy."""

    step: NDArray[np.uint32]
    address: NDArray[np.uint64]
    size: NDArray[np.uint8]
    value: NDArray[np.uint64]
    applied: NDArray[np.int64]


@compiled(inline=True)
def place(address: Any, memory: Any) -> Any:
    """Where a byte of memory lies in the flat copy of it, or -1."""
    starts, sizes, places = memory.starts, memory.sizes, memory.places
    for i in range(len(starts)):
        offset = address - starts[i]  # wraps to a huge number below the start
        if offset < sizes[i]:
            return places[i] + np.int64(offset)
    return np.int64(-1)


@compiled(inline=True)
def load(address: Any, size: Any, memory: Any) -> Any:
    """A little-endian word of ``size`` bytes, and whether it could be read."""
    starts, sizes, places, marks = memory.starts, memory.sizes, memory.places, memory.marks
    for i in range(len(starts)):
        offset = address - starts[i]
        if offset < sizes[i]:
            if sizes[i] - offset < u64(size):
                break
            at = places[i] + np.int64(offset)
            marks[at >> 3] = 1
            if size == 8 and at & 7 == 0:
                return memory.words[at >> 3], True
            if size == 4 and at & 3 == 0:
                return u64(memory.halves[at >> 2]), True
            break
    value = u64(0)
    if address + u64(size) < address:
        return value, False
    for k in range(size):  # not aligned, across two regions, or not mapped
        at = place(address + u64(k), memory)
        if at < 0:
            return u64(0), False
        marks[at >> 3] = 1
        value |= u64(memory.octets[at]) << u64(8 * k)
    return value, True


@compiled(inline=True)
def store(address: Any, size: Any, value: Any, memory: Any) -> Any:
    """Write, and say whether something was read from there; the mark is taken away."""
    starts, sizes, places, marks = memory.starts, memory.sizes, memory.places, memory.marks
    for i in range(len(starts)):
        offset = address - starts[i]
        if offset < sizes[i]:
            at = places[i] + np.int64(offset)
            if sizes[i] - offset < u64(size) or (size != 8 and size != 4) or at & (size - 1) != 0:
                break
            if size == 8:
                memory.words[at >> 3] = value
            else:
                memory.halves[at >> 2] = np.uint32(value & u64(0xFFFF_FFFF))
            read = marks[at >> 3] != 0
            marks[at >> 3] = 0
            return read
    read = False
    for k in range(size):
        at = place(address + u64(k), memory)
        if at >= 0:
            memory.octets[at] = np.uint8((value >> u64(8 * k)) & u64(0xFF))
            read = read or marks[at >> 3] != 0
            marks[at >> 3] = 0
    return read


@compiled(inline=True)
def move_to(step: Any, journal: Any, memory: Any) -> None:
    """Apply what was written before ``step`` executed. Steps are asked for in order."""
    write = journal.applied[0]
    while write < len(journal.step) and np.int64(journal.step[write]) < step:
        store(journal.address[write], np.int64(journal.size[write]), journal.value[write], memory)
        write += 1
    journal.applied[0] = write
