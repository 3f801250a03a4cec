"""Rows coded as columns: what the numbers mean that `unwinders.rows.native.plan` writes and compiled code reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Kinds of rules. NEVER: a rule that has no value in any frame; NONE: the row has no such rule at all.
AT_CFA, CFA_PLUS, AT_REGISTER, REGISTER_PLUS, SAME, CONSTANT, UNDEFINED, NEVER, NONE = range(9)

# Columns of `Rows.facts`: bits of what is special about a row, and the register whose zero ends the stack (or -1).
SPECIAL, ZERO, FIRST, COUNT, FOUND_BY = range(5)
SLOW, STAYS, SIGNED = 1, 2, 4

UNASKED, NO_ROW, ROWS = 0, 1, 2  # what a map from pc to row holds; a row's number is counted from ROWS
INTERRUPTED, CALLER = 0, 1  # the two maps


class RuleColumns(NamedTuple):
    """Rules: (kind, base register, size in bytes, own register) each, and its offset."""

    rules: NDArray[np.int64]
    offsets: NDArray[np.uint64]


class Rows(NamedTuple):
    """Rows as arrays. ``cfa`` and ``ra`` have a rule per row, ``rules`` those of the other registers, all rows in one.

    ``same[row]`` are the registers that keep their value, ``uses[row]`` those of this frame that decide what the row
    gives: the one by their places in a frame, the other as the bits of `testbed.trace.Trace.changed`.
    """

    cfa: RuleColumns
    ra: RuleColumns
    rules: RuleColumns
    same: NDArray[np.uint64]
    uses: NDArray[np.uint64]
    facts: NDArray[np.int64]


class Lookup(NamedTuple):
    """From a pc to its row: segments of images, each with its place in the two maps; elsewhere ``outside``."""

    start: NDArray[np.uint64]
    size: NDArray[np.uint64]
    place: NDArray[np.int64]
    map: NDArray[np.int32]  # (kind, place)
    outside: NDArray[np.int32]  # by kind


class Planned(NamedTuple):
    """All that is known of rows, and the masks of words, code addresses and signatures.

    ``pointers`` is how many of the registers, the first ones, are SP and frame pointers.
    """

    lookup: Lookup
    rows: Rows
    word_mask: np.uint64
    code_mask: np.uint64
    signature: np.uint64
    pointers: np.int64
