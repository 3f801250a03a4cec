"""What became of return addresses in a link register: nobody comes back to one that nobody keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.transfers import distinct

Addresses = NDArray[np.uint64]


def kept_links(trace: Trace, steps: slice = slice(None)) -> Addresses:
    """The addresses that were stored while the link register held them, in order. Where calls push, there are none.

    A function that wants to return and to use the link register stores it first; code that was jumped to with a call
    instruction has no use for what that left in there.
    """
    arch, writes = trace.arch, trace.writes
    if arch.link is None:
        return np.empty(0, np.uint64)
    first, end, _ = steps.indices(len(trace))
    low, high = np.searchsorted(writes.step, [first, end]).tolist()
    link = trace.column(arch.link)[writes.step[low:high]]
    stored = (writes.value[low:high] == link) & (writes.size[low:high] == arch.word)
    return distinct(link[stored] & np.uint64(arch.code_mask & ~arch.signature))
