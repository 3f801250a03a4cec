"""What new nodes know of the chain further out."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.contract.native import ROOT, SPECIFICATION, STOPPED
from testbed.native.compiled import native
from unwinders.rows.native.chain import SweptNodes, fill_outer_facts


def chain(*modes: int, end: int, known: tuple[int, ...], low: tuple[int, ...]) -> SweptNodes:
    """Frames, the innermost one first: each one's caller is the next one, and that of the last is ``end``."""
    count = len(modes)
    outer = np.array([*range(1, count), end], np.int32)
    values, pcs = 0x10 * np.arange(2 * count, dtype=np.uint64).reshape(count, 2), np.arange(count, dtype=np.uint64)
    blank = np.zeros(count, np.int32)
    columns = (pcs, np.array(known, np.uint64), values, pcs, blank > 0, outer, blank.copy(), blank.copy(), blank)
    return SweptNodes(*columns, np.array(low, np.uint64), np.array(modes, np.int8), blank > 0, blank)


@pytest.mark.parametrize(
    ("modes", "end", "known", "expected"),
    [
        ((0, 0, 0), ROOT, (3, 3, 3), ([ROOT] * 3, [True, True, False])),
        ((0, 0, 0), STOPPED, (3, 3, 0), ([STOPPED] * 3, [True, False, False])),
        ((1, 1, 1), ROOT, (0, 2, 1), ([ROOT] * 3, [False] * 3)),
        ((0, 1, 1), ROOT, (0, 0, 7), ([SPECIFICATION, ROOT, ROOT], [True, True, False])),
        ((1, 0, 1), ROOT, (0, 0, 0), ([SPECIFICATION, ROOT, ROOT], [False] * 3)),  # the outermost one has no guard
        ((1, 1, 0, 0), ROOT, (0, 0, 0, 0), ([SPECIFICATION] * 2 + [ROOT] * 2, [False] * 4)),
        ((1, 1, 0), SPECIFICATION, (0, 0, 0), ([SPECIFICATION] * 3, [False] * 3)),
    ],
)
def test_what_lies_further_out(
    modes: tuple[int, ...], end: int, known: tuple[int, ...], expected: tuple[list[int], list[bool]]
) -> None:
    """A walk that compares another register than the one further out did is the specification's."""
    count = len(modes)
    nodes = chain(*modes, end=end, known=known, low=(5, 4, 7, 6)[:count])
    native(fill_outer_facts, when=False)(0, count, 2, nodes)
    assert (nodes.end.tolist(), nodes.complete.tolist()) == expected
    assert nodes.depth.tolist() == [*range(count, 0, -1)]
    assert nodes.low.tolist() == ([4, 4, 7] if count == 3 else [4, 4, 6, 6])
    assert nodes.mode.tolist() == [*modes[:-1], -1]
