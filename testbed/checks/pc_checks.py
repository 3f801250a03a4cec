"""What became of each instruction over all its visits, in one trace or in many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.checks.row_checks import RowChecks

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ResultsByPc:
    """One row per link-time pc, in order; each was compared at least once.

    ``some`` has the bits that are wrong at some visit, ``every`` those that are wrong at every one. ``first`` is the
    first wrong visit's step, in the trace with the number ``trace``; both are -1 where none is wrong.
    """

    pc: NDArray[np.uint64]
    visits: Numbers = field(repr=False)
    wrong: Numbers = field(repr=False)
    untried: Numbers = field(repr=False)
    some: NDArray[np.uint64] = field(repr=False)
    every: NDArray[np.uint64] = field(repr=False)
    first: Numbers = field(repr=False)
    trace: Numbers = field(repr=False)

    def __len__(self) -> int:
        return len(self.pc)

    @property
    def masks(self) -> dict[int, int]:
        """The bits that are wrong at some visit, by pc."""
        return dict(zip(self.pc.tolist(), self.some.tolist(), strict=True))


def by_pc(checks: RowChecks, trace: int = 0) -> ResultsByPc:
    """The visits of each pc of one trace, which has this number, added up."""
    steps = np.flatnonzero(checks.compared)
    wrong = checks.wrong[steps]
    first = np.where(wrong != 0, steps, -1)
    ones = np.ones(len(steps), np.int64)
    counts = ones, (wrong != 0).astype(np.int64), checks.untried[steps].astype(np.int64)
    numbers = np.where(wrong != 0, trace, -1)
    return _grouped(ResultsByPc(checks.pc[steps], *counts, wrong, wrong, first, numbers))


def summed(parts: Iterable[ResultsByPc]) -> ResultsByPc:
    """The visits of several traces added up. Of first wrong visits, that of the earliest part stays."""
    every = [NO_CHECKS, *parts]
    return _grouped(
        ResultsByPc(
            np.concatenate([part.pc for part in every]),
            np.concatenate([part.visits for part in every]),
            np.concatenate([part.wrong for part in every]),
            np.concatenate([part.untried for part in every]),
            np.concatenate([part.some for part in every]),
            np.concatenate([part.every for part in every]),
            np.concatenate([part.first for part in every]),
            np.concatenate([part.trace for part in every]),
        )
    )


_NO_MASKS, _NO_COUNTS = np.empty(0, np.uint64), np.empty(0, np.int64)
NO_CHECKS = ResultsByPc(_NO_MASKS, _NO_COUNTS, _NO_COUNTS, _NO_COUNTS, _NO_MASKS, _NO_MASKS, _NO_COUNTS, _NO_COUNTS)


def _grouped(rows: ResultsByPc) -> ResultsByPc:
    """Rows of one pc as one row; the earlier ones come first."""
    if not len(rows):
        return rows
    order = np.argsort(rows.pc, kind="stable")
    pc = rows.pc[order]
    starts = np.flatnonzero(np.concatenate(([True], pc[1:] != pc[:-1])))
    counts = rows.visits, rows.wrong, rows.untried
    visits, wrong, untried = (np.add.reduceat(column[order], starts) for column in counts)
    # The first row of each group that has a wrong visit: places of others count as the end.
    places = np.where(rows.first[order] >= 0, np.arange(len(order)), len(order))
    place = np.minimum.reduceat(places, starts)
    is_wrong = place < len(order)
    place = np.where(is_wrong, place, 0)
    first, trace = (np.where(is_wrong, column[order][place], -1) for column in (rows.first, rows.trace))
    some, every = np.bitwise_or.reduceat(rows.some[order], starts), np.bitwise_and.reduceat(rows.every[order], starts)
    return ResultsByPc(pc[starts], visits, wrong, untried, some, every, first, trace)
