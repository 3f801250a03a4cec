"""Memory that is mostly zeros, as stacks of threads are: pages of zeros are not copied, and take no room.

The system gives a page to who writes to it. So whatever copies memory leaves the pages of zeros alone, and what it
copies to comes fresh from the system, all zeros.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

PAGE = 4096  # bytes
Octets = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def pages(size: int) -> int:
    """How many pages so many bytes begin."""
    return -(-size // PAGE)


def used_pages(data: bytes) -> Bools:
    """For each page of some bytes: is there anything but zeros?"""
    used = np.zeros(pages(len(data)), np.bool_)
    whole = len(data) // PAGE
    words = np.frombuffer(data, np.uint64, whole * PAGE // 8)
    used[:whole] = np.bitwise_or.reduce(words.reshape(whole, PAGE // 8), axis=1) != 0
    if whole < len(used):
        used[whole] = any(data[whole * PAGE :])
    return used


def copy_used(data: bytes, used: Bools, into: Octets) -> None:
    """Copy bytes to a place that holds zeros."""
    octets = np.frombuffer(data, np.uint8)
    for low, high in used_runs(used):
        into[low:high] = octets[low:high]


def sparse_bytes(octets: Octets, used: Bools) -> bytes:
    """These octets, of which only the pages in use are read."""
    if len(octets) <= PAGE:  # Python keeps some short ones
        return octets.tobytes()
    made = bytes(len(octets))  # calloc: zeros that nobody has written
    if used.any():
        # Nobody else has seen the new object yet, which is when Python's C API allows to fill one in.
        at = ctypes.cast(ctypes.c_char_p(made), ctypes.c_void_p).value or 0
        for low, high in used_runs(used):
            ctypes.memmove(at + low, octets.ctypes.data + low, min(high, len(octets)) - low)
    return made


def used_runs(used: Bools) -> list[tuple[int, int]]:
    """Where pages in use lie, in bytes: neighbours together."""
    edges = np.flatnonzero(np.diff(used, prepend=False, append=False)) * PAGE
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
