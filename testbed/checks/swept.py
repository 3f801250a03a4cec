"""A trace's memory for the compiled code of this room: mapped regions in one array, and the journal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.checks.native.memory import SweptMemory
from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.trace.memory import Regions
from testbed.trace.sparse import copy_used


def swept_memory(trace: Trace) -> SweptMemory:
    """Memory as it is before the first step, to be moved on. It is a copy."""
    regions = tuple(Regions(trace.initial))
    sizes = np.array([len(region.data) for region in regions], np.int64)
    starts = np.array([region.address for region in regions], np.uint64)
    places = np.cumsum(sizes) - sizes
    octets = np.zeros(int(sizes.sum()), np.uint8)
    for region, place in zip(regions, places.tolist(), strict=True):
        copy_used(region.data, region.used, octets[place : place + len(region.data)])
    writes = trace.writes
    journal = map(np.ascontiguousarray, (writes.step, writes.address, writes.size, writes.value))
    return SweptMemory(starts, starts + sizes.astype(np.uint64), places, octets, np.zeros(2, np.int64), *journal)


def load_words(
    trace: Trace, steps: NDArray[np.int64], addresses: NDArray[np.uint64], size: int
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A word of ``size`` bytes at each address before each step, and whether it is mapped: natively, in one sweep."""
    from testbed.checks.native.memory import load_many

    values, mapped = np.zeros(len(steps), np.uint64), np.zeros(len(steps), np.bool_)
    order = np.argsort(steps, kind="stable")
    native(load_many)(steps, addresses, np.int64(size), swept_memory(trace), order, values, mapped)
    return values, mapped
