"""Rows coded as columns, which `unwinders.rows.native.plan` writes and the sweep reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.contract.native import RuleColumns

UNASKED, NO_ROW, ROWS = 0, 1, 2  # what a map from pc to row holds; a row's number is counted from ROWS
INTERRUPTED, CALLER = 0, 1  # the two maps


class Rows(NamedTuple):
    """Rows. ``cfa`` and ``return_address`` have a rule per row; ``registers`` has the rules of the other registers, all
    rows' in one: a row's are ``first`` up to ``end``.

    ``same`` are the registers that keep their value, ``uses`` those of this frame that decide what the row gives: the
    one by their places in a frame, the other as the bits of `testbed.trace.Trace.changed`. ``zero`` is the register
    whose zero marks the outermost frame, or -1. ``is_slow``: only `unwinders.rows.walk` applies it. ``may_stay``: the
    return address is in no memory, so that the frame may be empty. ``is_signed``: the return address is.
    """

    cfa: RuleColumns
    return_address: RuleColumns
    registers: RuleColumns
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    same: NDArray[np.uint64]
    uses: NDArray[np.uint64]
    zero: NDArray[np.int64]
    is_slow: NDArray[np.bool_]
    may_stay: NDArray[np.bool_]
    is_signed: NDArray[np.bool_]
    found_by: NDArray[np.int32]


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


class FrameRegisters(NamedTuple):
    """A frame's registers, of which the bits of ``known`` have a value; and its CFA, once that is known."""

    values: NDArray[np.uint64]
    known: np.uint64
    cfa: np.uint64
    cfa_known: bool


class StepOut(NamedTuple):
    """What a row gives: FOUND or why there is no caller, the caller's pc and which registers it knows.

    Then this frame's CFA and whether that is known, the lowest address that was read, and which of SP and the frame
    pointers grew from this frame to its caller, or -1.
    """

    code: np.int64
    pc: np.uint64
    recovered: np.uint64
    cfa: np.uint64
    cfa_known: bool
    low: np.uint64
    pointer: np.int64
