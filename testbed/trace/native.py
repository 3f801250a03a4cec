"""A journal of writes applied to memory that lies in one array of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled


@compiled()
def apply_writes(
    starts: Any, ends: Any, places: Any, octets: Any, touched: Any, address: Any, size: Any, value: Any
) -> None:
    """Every write, in order; ``touched`` are the regions that any of them reaches."""
    last = 0
    for i in range(len(address)):
        at, word = address[i], value[i]
        for _ in range(size[i]):
            if not starts[last] <= at < ends[last]:
                for r in range(len(starts)):
                    if starts[r] <= at < ends[r]:
                        last = r
            if starts[last] <= at < ends[last]:
                octets[places[last] + np.int64(at - starts[last])] = np.uint8(word & np.uint64(0xFF))
                touched[last] = True
            at += np.uint64(1)
            word >>= np.uint64(8)
