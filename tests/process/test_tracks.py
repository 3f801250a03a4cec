"""Which thread left a stack, and which one goes on there."""

from __future__ import annotations

import numpy as np

from testbed.process.tracks import LeftStacks

# Thread 1 leaves 0x1000 by a call that switches away, thread 2 goes on one word further up and calls a deeper frame.
ONE, TWO = [0x1008, 0x1000, 0x9000, 0x8FF8], [0x5000, 0x1008, 0x0F00, 0x1008]
SP = np.array(ONE + TWO + [0x0F00, 0x9000], np.uint64)
PIECES = {1: [(0, 4), (8, 10)], 2: [(4, 8)]}


def test_a_stack_is_taken_over_where_sp_comes_to_what_another_thread_left() -> None:
    """Not where a thread comes back to what it left itself; the first one took over what the second one had left."""
    assert LeftStacks(8).taken_over(SP, PIECES) == {2: [5], 1: [8]}
    assert LeftStacks(8).taken_over(SP, {1: [(0, 10)]}) == {}


def test_it_is_found_in_pieces_too() -> None:
    for cut in range(1, len(SP)):
        left, found = LeftStacks(8), dict[int, list[int]]()
        for start, end in ((0, cut), (cut, len(SP))):
            spans = {
                number: [(max(a, start) - start, min(b, end) - start) for a, b in each if a < end and b > start]
                for number, each in PIECES.items()
            }
            own = {number: each for number, each in spans.items() if each}
            for number, steps in left.taken_over(SP[start:end], own).items():
                found.setdefault(number, []).extend(start + step for step in steps)
        assert found == {2: [5], 1: [8]}, cut
