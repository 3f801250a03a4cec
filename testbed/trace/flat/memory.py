"""A trace's memory in one flat copy, for code that is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.trace.flat.native import FlatMemory, SweptWrites
from testbed.trace.memory import Region
from testbed.trace.sparse import copy_used
from testbed.trace.trace import Trace


def flat_memory(regions: Iterable[Region], sp: int) -> FlatMemory:
    """A copy of some regions. The stack, read most often, comes first."""
    placed: list[int] = []
    at = 0
    mapped = sorted((r for r in regions if r.data), key=lambda region: not region.address <= sp <= region.end)
    for region in mapped:
        at += region.address % 8
        placed.append(at)
        at += len(region.data)
        at += -at % 8
    words = np.zeros(at // 8 + 1, np.uint64)
    octets = words.view(np.uint8)
    for region, place in zip(mapped, placed, strict=True):
        copy_used(region.data, region.used, octets[place : place + len(region.data)])
    return FlatMemory(
        np.array([region.address for region in mapped], np.uint64),
        np.array([len(region.data) for region in mapped], np.uint64),
        np.array(placed, np.int64),
        octets,
        words,
        words.view(np.uint32),
        np.zeros(len(words), np.uint8),
    )


def memory_of(trace: Trace) -> tuple[FlatMemory, SweptWrites]:
    """A trace's memory as it is before the first step, and the writes that move it on."""
    writes = trace.writes
    # A column of a table would be another type to numba: what reads it would be compiled once more.
    columns: list[NDArray[Any]] = [
        np.ascontiguousarray(column) for column in (writes.step, writes.address, writes.size, writes.value)
    ]
    step, address, size, value = columns
    memory = flat_memory(trace.initial, int(trace.sp[0]) if len(trace) else 0)
    return memory, SweptWrites(step, address, size, value, np.zeros(1, np.int64))
