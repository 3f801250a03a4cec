"""The places that calls promise to come back to, numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled


@compiled(inline=True)
def _place(address: Any, cfa: Any, pairs: Any, table: Any) -> Any:
    """Where a place is in the table, or would be."""
    mask = u64(len(table) - 1)
    mixed = (address ^ (cfa << u64(1))) * u64(0x9E37_79B9_7F4A_7C15)
    at = (mixed ^ (mixed >> u64(32))) & mask
    while table[at] >= 0 and (pairs[table[at], 0] != address or pairs[table[at], 1] != cfa):
        at = (at + u64(1)) & mask
    return at


@compiled(allocates=True)
def number_places(known: Any, events: Any, cfa: Any, call: Any) -> Any:
    """For each event: the number of the place (return address, CFA) that it promises, if it is a call; the number
    of the promised place that control is at, or -1. Then the numbers of the places known before, and all places."""
    count = len(events.pc)
    most, used, size = len(known) + count, 0, 16
    while size < 2 * most:
        size *= 2
    table, pairs = np.full(size, -1, np.int64), np.empty((most, 2), np.uint64)
    before, promised, here = np.empty(len(known), np.int64), np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    for i in range(len(known) + count):
        e = i - len(known)
        if e >= 0 and not call[e]:
            continue
        address, stack = (known[i, 0], known[i, 1]) if e < 0 else (events.fall[e], cfa[e])
        at = _place(address, stack, pairs, table)
        if table[at] < 0:
            table[at] = used
            pairs[used, 0], pairs[used, 1] = address, stack
            used += 1
        if e < 0:
            before[i] = table[at]
        else:
            promised[e] = table[at]
    for e in range(count):
        here[e] = table[_place(events.pc[e], events.sp[e], pairs, table)]
    return promised, here, before, pairs[:used].copy()
