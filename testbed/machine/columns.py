"""Columns that a recorder appends to natively, without ever copying what they hold."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """Memory of its own that grows in place: the pages move to another address, their content is not touched.

    What is reserved and not yet written to takes no memory. ``grow`` gives the address that holds from then on.
    """

    def __init__(self, kind: type[np.generic], width: int = 1) -> None:
        self._kind, self._width = np.dtype(kind), width
        self._map = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def grow(self, rows: int) -> int:
        """Room for this many rows."""
        size = max(1, rows * self._width * self._kind.itemsize)
        self._resize(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        return self.address

    @property
    def address(self) -> int:
        """Where the first row is, until the column grows."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def view(self, rows: int) -> NDArray[Any]:
        """The first rows, where they are; the column cannot grow while someone holds them."""
        return np.frombuffer(self._map, self._kind, rows * self._width)

    def filled(self, rows: int) -> NDArray[Any]:
        """The rows that were written; the rest is given back, and the column does not grow any more."""
        self.grow(rows)
        return np.frombuffer(self._map, self._kind, rows * self._width)

    def _resize(self, size: int) -> None:
        try:
            self._map.resize(size)
        except SystemError:  # a system without mremap: copied after all
            larger = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            larger[: min(size, len(self._map))] = self._map[:size]
            self._map = larger
        if hasattr(mmap, "MADV_HUGEPAGE") and size >= 1 << 22:
            # A page fault per 4 KiB costs more than all the rest of a step.
            self._map.madvise(mmap.MADV_HUGEPAGE)
