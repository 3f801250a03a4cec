"""Memory swept along with a trace: one flat copy of it, to which the journal is applied."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as u64
from numpy.typing import NDArray

from testbed.native.compiled import compiled


class SweptMemory(NamedTuple):
    """Regions, sorted and disjoint, each with its place in ``octets``; ``last[0]`` is the one that was met last.

    The rest is the journal: ``last[1]`` entries of it are applied already.
    """

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    places: NDArray[np.int64]
    octets: NDArray[np.uint8]
    last: NDArray[np.int64]
    step: NDArray[np.uint32]
    address: NDArray[np.uint64]
    size: NDArray[np.uint8]
    value: NDArray[np.uint64]


@compiled(inline=True)
def _region(address: Any, memory: Any) -> Any:
    """The region that holds an address, or -1."""
    starts, ends, last = memory.starts, memory.ends, memory.last
    low, high = 0, len(starts)
    if high > 0 and starts[last[0]] <= address < ends[last[0]]:
        return last[0]
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= address:
            low = middle + 1
        else:
            high = middle
    if low < len(starts) and starts[low] <= address:
        last[0] = low
        return np.int64(low)
    return np.int64(-1)


@compiled(inline=True)
def load(address: Any, size: Any, memory: Any) -> Any:
    """A little-endian word of ``size`` bytes, and whether all of it is mapped."""
    value = u64(0)
    if address + u64(size) < address:
        return value, False
    region = np.int64(-1)
    for k in range(size):
        at = address + u64(k)
        if region < 0 or at >= memory.ends[region]:
            region = _region(at, memory)
            if region < 0:
                return u64(0), False
        value |= u64(memory.octets[memory.places[region] + np.int64(at - memory.starts[region])]) << u64(8 * k)
    return value, True


@compiled(inline=True)
def move_to(step: Any, memory: Any) -> None:
    """Apply what was written before ``step`` executed."""
    write = memory.last[1]
    while write < len(memory.step) and memory.step[write] < step:
        address, value = memory.address[write], memory.value[write]
        for k in range(memory.size[write]):
            at = address + u64(k)
            region = _region(at, memory)
            if region >= 0:
                memory.octets[memory.places[region] + np.int64(at - memory.starts[region])] = np.uint8(
                    (value >> u64(8 * k)) & u64(0xFF)
                )
        write += 1
    memory.last[1] = write


@compiled()
def load_many(steps: Any, addresses: Any, size: Any, memory: Any, order: Any, values: Any, mapped: Any) -> None:
    """Fill in a word for each step and address; ``order`` are their places by step."""
    for i in order:
        move_to(steps[i], memory)
        values[i], mapped[i] = load(addresses[i], size, memory)
