"""The facts of `testbed.truth.sites`, natively, for traces of millions of steps: one pass per segment, no sorting.

The readable form stays in `sites`; this finds the same, and a test holds it to that. Compiled once by numba and kept
on disk; nothing imports this module before a trace is long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from testbed.truth.transfers import Bools


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _counted_order(node: Any, count: Any) -> Any:
    """Steps by activation, then time."""
    next_place = np.zeros(count + 1, np.int64)
    for step in range(len(node)):
        next_place[node[step] + 1] += 1
    for index in range(count):
        next_place[index + 1] += next_place[index]
    order = np.empty(len(node), np.int64)
    for step in range(len(node)):
        index = node[step]
        order[next_place[index]] = step
        next_place[index] += 1
    return order


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _facts(order: Any, starts: Any, sp: Any, pointer: Any, moved: Any, lowered: Any) -> Any:
    """Prologue, epilogue and frameless of every step, from the places at which segments start."""
    count = len(order)
    prologue, epilogue = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    frameless = np.zeros(count, np.bool_)
    longest = 1
    for s in range(len(starts)):
        end = starts[s + 1] if s + 1 < len(starts) else count
        longest = max(longest, end - starts[s])
    size = 2
    while size < 2 * longest:
        size *= 2
    # The pairs (SP, FP) of one segment; an entry counts only with the number of the segment.
    owner = np.full(size, -1, np.int64)
    pairs, kinds, times = np.empty((size, 2), np.uint64), np.empty(size, np.int8), np.empty(size, np.int64)
    where = np.empty(longest, np.int64)
    for s in range(len(starts)):
        start = starts[s]
        end = starts[s + 1] if s + 1 < len(starts) else count
        size = 2
        while size < 2 * (end - start):
            size *= 2
        mask = np.uint64(size - 1)
        best = -1
        still = True
        for place in range(start, end):
            step = order[place]
            still = still and not moved[step]
            mixed = (sp[step] * np.uint64(0x9E3779B97F4A7C15)) ^ (pointer[step] * np.uint64(0xC2B2AE3D27D4EB4F))
            slot = np.int64((mixed >> np.uint64(32)) & mask)
            while owner[slot] == s and (pairs[slot, 0] != sp[step] or pairs[slot, 1] != pointer[step]):
                slot = (slot + 1) & (size - 1)
            if owner[slot] != s:
                owner[slot] = s
                pairs[slot, 0], pairs[slot, 1] = sp[step], pointer[step]
                kinds[slot] = 2 if moved[step] else (1 if lowered[step] else 0)
                times[slot] = 0
            times[slot] += 1
            where[place - start] = slot
        for place in range(start, end):
            slot = where[place - start]
            if best < 0 or (
                kinds[slot] > kinds[best]
                or (
                    kinds[slot] == kinds[best]
                    and (
                        times[slot] > times[best]
                        or (
                            times[slot] == times[best]
                            and (
                                pairs[slot, 0] < pairs[best, 0]
                                or (pairs[slot, 0] == pairs[best, 0] and pairs[slot, 1] > pairs[best, 1])
                            )
                        )
                    )
                )
            ):
                best = slot
        first, last = end, start
        for place in range(start, end):
            if where[place - start] == best:
                first = min(first, place)
                last = place
        for place in range(start, end):
            step = order[place]
            prologue[step], epilogue[step], frameless[step] = place < first, place > last, still
    return prologue, epilogue, frameless


def steps_by_activation(node: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """A stable sort of the steps by their activation, one of ``count``."""
    order: NDArray[np.int64] = _counted_order(node, count)
    return order


def segment_facts(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    sp: NDArray[np.uint64],
    pointer: NDArray[np.uint64],
    moved: Bools,
    lowered: Bools,
) -> tuple[Bools, Bools, Bools]:
    """Prologue, epilogue and frameless of every step; ``starts`` are places in ``order``."""
    found: tuple[Bools, Bools, Bools] = _facts(order, starts, sp, pointer, moved, lowered)
    return found
