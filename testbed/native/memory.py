"""What kernels do that Python has no words for: memory and C functions by their addresses.

Each stands here as Python does it; `testbed.native.emitted` has the machine code that the compiler puts in its place.
Words are signed, 64 bits wide.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from testbed.native.forms import EMITTED


def _emitted(function: Callable[..., Any]) -> Callable[..., Any]:
    EMITTED.add(function)
    return function


@_emitted
def load(address: int) -> int:
    """The word at an address."""
    return ctypes.c_int64.from_address(address).value


@_emitted
def load_id(address: int) -> int:
    """The number of 4 bytes at an address."""
    return ctypes.c_int32.from_address(address).value


@_emitted
def load_byte(address: int) -> int:
    """The byte at an address of this process."""
    return ctypes.c_uint8.from_address(address).value


@_emitted
def store(address: int, value: int) -> None:
    """Put a word to an address."""
    ctypes.c_int64.from_address(address).value = value


@_emitted
def store_step(address: int, value: int) -> None:
    """Put the lowest 4 bytes of a word to an address."""
    ctypes.c_int32.from_address(address).value = value


@_emitted
def store_byte(address: int, value: int) -> None:
    """Write a byte at an address of this process."""
    ctypes.c_uint8.from_address(address).value = value


@_emitted
def copy_words(to: int, source: int, count: int) -> None:
    """Copy ``count`` words of 8 bytes from one address of this process to another."""
    ctypes.memmove(to, source, 8 * count)


@_emitted
def lowest(word: int) -> int:
    """The number of the lowest set bit; ``word`` is not 0."""
    return (word & -word).bit_length() - 1


@_emitted
def call(function: int, first: int, second: int, third: int, fourth: int) -> None:
    """Call a C function of up to four word arguments; what it does not take, it does not look at."""
    _function(function)(first, second, third, fourth)


@lru_cache(maxsize=64)
def _function(address: int) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)(address)


@_emitted
def prefetch(address: np.uint64) -> None:
    """Bring the cache line of an address closer. Never faults, whatever the address is; Python does not say it."""


@_emitted
def record_at(kind: np.dtype[Any], address: int) -> Any:
    """The record of some fields at an address, to read and to write."""
    octets = memoryview((ctypes.c_char * kind.itemsize).from_address(address)).cast("B")
    return np.frombuffer(octets, kind).view(np.recarray)[0]
