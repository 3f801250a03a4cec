"""Visits that only a path made which no run takes: they count for nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from testbed.checks.row_checks import RowChecks
from testbed.checks.static_rows import RowAt, agrees
from testbed.contract.rows import RowTable
from testbed.image import Image
from testbed.micro.batches import Batch


def without_impossible(checks: RowChecks, batch: Batch) -> RowChecks:
    """Without the visits that only an impossible path makes.

    A row says one thing of an instruction. Where it is right on some path, a forced path on which it is wrong mixes
    branches that belong together.
    """
    wrong = checks.compared & (checks.wrong != 0)
    right = np.unique(checks.pc[checks.compared & (checks.wrong == 0)])
    return replace(checks, compared=checks.compared & ~(wrong & batch.forced & np.isin(checks.pc, right)))


def without_never_returning(
    checks: RowChecks, batch: Batch, image: Image, table: RowTable, row_at: RowAt | None
) -> RowChecks:
    """Without what a path did behind a call of what never returns: an import, which everyone here answers.

    The row where it comes back is wrong then, and right where another path comes there, or as the instructions say that
    lead there in another way. Who defines the import is not known, so only this tells.
    """
    wrong = checks.compared & (checks.wrong != 0)
    suspects = np.flatnonzero(wrong & batch.answered)
    if not len(suspects):
        return checks
    right = frozenset(np.unique(checks.pc[checks.compared & (checks.wrong == 0)]).tolist())
    over = np.full(len(batch.path), False)
    for step in suspects.tolist():
        pc = int(checks.pc[step])
        if pc in right or (row_at is not None and agrees(image, table, row_at, pc)):
            over[step:] |= batch.path[step:] == batch.path[step]
    return replace(checks, compared=checks.compared & ~over)


def without_contradicted(
    checks: RowChecks, batch: Batch, image: Image, table: RowTable, row_at: RowAt | None
) -> RowChecks:
    """Without forced visits at which the table is wrong, but says what the instructions before it say.

    Then it is the path that is wrong: it came there with another frame than any run does.
    """
    wrong = checks.compared & (checks.wrong != 0)
    alone = np.setdiff1d(checks.pc[wrong & batch.forced], checks.pc[wrong & ~batch.forced])
    if row_at is None or not len(alone):
        return checks
    agreed = [pc for pc in alone.tolist() if agrees(image, table, row_at, pc)]
    return replace(checks, compared=checks.compared & ~(wrong & np.isin(checks.pc, np.array(agreed, np.uint64))))
