"""Free memory given back to the system, so that a long run has no more of it than one of its pieces needs."""

from __future__ import annotations

import ctypes
import gc
from functools import cache


def free_garbage() -> None:
    """Free what refers to itself: an emulator and its callbacks do, with all memory of the program that it ran."""
    gc.collect()
    give_back()


def give_back() -> None:
    """Give free pages back: glibc keeps those between blocks in use until it is told. Elsewhere this does nothing."""
    if trim := _trim():
        trim(0)


@cache
def _trim() -> ctypes._NamedFuncPointer | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
