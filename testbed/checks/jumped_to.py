"""Steps in code that nobody calls: of which of them the truth is known, and which only a path makes that no run takes.

A part that a function jumps to runs in the function's activation, whose CFA and caller are known. What a call led to is
another thing: a helper that begins with a frame has a convention of its own, and nothing is said of it.

Of the instructions' own rows, which tell impossible paths elsewhere, nothing is known in a part: they come from the
function's first instruction. Two things tell there. A row that begins right behind a call with another frame says that
the call never returns. And a forced path that was impossible in the function stays so in its part: from a landing pad
that was entered with another frame than any run does, say.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.checks.row_checks import RowChecks
from testbed.checks.static_rows import RowAt
from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.micro.batches import Batch
from testbed.micro.functions import CodePiece
from testbed.truth import Truth
from testbed.truth.transfers import Bools
from testbed.words.errors import UnwindError


def within(pieces: Sequence[CodePiece], pc: NDArray[np.uint64]) -> Bools:
    """Whether each link-time pc lies in one of some pieces."""
    if not pieces:
        return np.zeros(len(pc), np.bool_)
    starts, ends = np.array(sorted((piece.start, piece.end) for piece in pieces), np.uint64).T
    place = np.searchsorted(starts, pc, side="right") - 1
    return np.asarray((place >= 0) & (pc < ends[np.maximum(place, 0)]))


def in_parts(pieces: Sequence[CodePiece], parts: Sequence[CodePiece], watched: Truth, pc: NDArray[np.uint64]) -> Bools:
    """The steps in ``parts`` in an activation that did not begin in code that is not called."""
    opened = watched.activations.opened[watched.node]
    others = [piece for piece in pieces if not piece.is_entry]
    return within(parts, pc) & ~within(others, pc[opened])


def rows_outside(parts: Sequence[CodePiece], row_at: RowAt | None) -> RowAt | None:
    """What the instructions say of a place, but for those in parts."""
    if row_at is None or not parts:
        return row_at
    spans = sorted((part.start, part.end) for part in parts)
    starts = [start for start, _ in spans]

    def outside(image: Image, pc: int) -> UnwindRow:
        place = bisect_right(starts, pc) - 1
        if place >= 0 and pc < spans[place][1]:
            raise UnwindError("it is a part of a function")
        return row_at(image, pc)

    return outside


def without_fallen_through(checks: RowChecks, batch: Batch, table: RowTable, steps: Bools) -> RowChecks:
    """Without what a path did behind a call in a part that its author says never returns."""
    over = np.zeros(len(steps), np.bool_)
    for step in np.flatnonzero(steps & batch.answered).tolist():
        pc = int(checks.pc[step])
        row, before = table.at(pc), table.at(pc - 1)
        if row is not None and before is not None and (row.cfa, row.registers) != (before.cfa, before.registers):
            over[step:] |= batch.path[step:] == batch.path[step]
    return replace(checks, compared=checks.compared & ~over) if over.any() else checks


def without_led_astray(checks: RowChecks, before: RowChecks, batch: Batch, steps: Bools) -> RowChecks:
    """Without visits in parts on forced paths that were impossible before: wrong in the function, and dropped there."""
    dropped = before.compared & (before.wrong != 0) & ~checks.compared & batch.forced & ~steps
    over = np.zeros(len(steps), np.bool_)
    for path in np.unique(batch.path[dropped & np.isin(batch.path, np.unique(batch.path[steps]))]).tolist():
        first, last = np.searchsorted(batch.path, [path, path + 1])
        over[first + int(np.argmax(dropped[first:last])) : last] = True
    over &= steps
    return replace(checks, compared=checks.compared & ~over) if over.any() else checks
