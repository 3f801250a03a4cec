"""Which numbers are equal, in columns and tables of them: many steps of a run share what is asked of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST = 1 << 63


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row stands first, in the order of their columns, and which of them each row is.

    Columns are packed into one number as far as they fit, for whole rows sort slowly::

        number = number * (most - least + 1) + column - least

    Of equal rows that follow each other, as those of steps mostly do, only the first is sorted.
    """
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    heads = np.flatnonzero(begins)
    first, place = _sorted_rows(rows[heads])
    return heads[first], np.repeat(place, np.diff(heads, append=len(rows)))


def _sorted_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    number, room = np.zeros(len(rows), np.uint64), 1
    for column in rows.T if len(rows) else ():
        packed, span = column - column.min(), int(column.max()) - int(column.min()) + 1
        if room * span > _MOST:
            values, packed = np.unique(column, return_inverse=True)
            span = len(values)
        if room * span > _MOST:
            values, place = np.unique(number, return_inverse=True)
            number, room = place.astype(np.uint64), len(values)
        number, room = number * np.uint64(span) + packed.astype(np.uint64), room * span
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    return first, place


def distinct(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The values in order, each once. `numpy.unique` loads numpy.ma, which takes longer than a short run."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def are_among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are some of ``known``, which are in order."""
    found: NDArray[np.bool_] = np.searchsorted(known, values, side="right") > np.searchsorted(known, values)
    return found
