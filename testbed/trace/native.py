"""A journal of writes applied to memory that lies in one array of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled

PAGE = 4096  # bytes


@compiled(pays_from=10_000)
def apply_writes(
    starts: Any, ends: Any, places: Any, octets: Any, touched: Any, used: Any, address: Any, size: Any, value: Any
) -> None:
    """Every write, in order; ``touched`` are the regions that any of them reaches, ``used`` the pages of octets."""
    last = 0
    for i in range(len(address)):
        at, word = address[i], value[i]
        for _ in range(size[i]):
            if not starts[last] <= at < ends[last]:
                for r in range(len(starts)):
                    if starts[r] <= at < ends[r]:
                        last = r
            if starts[last] <= at < ends[last]:
                place = places[last] + np.int64(at - starts[last])
                octets[place] = np.uint8(word & np.uint64(0xFF))
                touched[last] = used[place // PAGE] = True
            at += np.uint64(1)
            word >>= np.uint64(8)


@compiled(inline=True)
def changes_at(registers: Any, k: Any) -> Any:
    """`testbed.trace.Trace.changed` of a row behind another one."""
    bits = np.uint64(0)
    for c in range(registers.shape[1]):
        if registers[k, c] != registers[k - 1, c]:
            bits |= np.uint64(1) << np.uint64(min(c, 63))
    return bits


@compiled()
def note_changes(registers: Any, out: Any) -> None:
    """Fill in `testbed.trace.Trace.changed`."""
    for k in range(len(registers)):
        out[k] = changes_at(registers, k) if k > 0 else ~np.uint64(0)
