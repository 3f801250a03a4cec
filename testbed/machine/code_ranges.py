"""Where code lies, and the tables of write sets that the hooks look up there: see `testbed.machine.native.hooks`.

A program of one file has one range. A process has one per piece of memory that may execute, and gets more on its way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.machine.native import hooks
from testbed.machine.native.state import RunState


@dataclass(frozen=True, slots=True)
class CodeRange:
    """``size`` bytes of memory from ``low`` on that may execute; ``writable``: the program may change them."""

    low: int
    size: int
    writable: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class WriteSets:
    """What is known of the instructions of a range: per byte an entry for each of two instruction sets.

    The system gives memory for those that are executed only.
    """

    range: CodeRange
    entries: NDArray[np.uint64] = field(repr=False)

    def place(self, address: int, isa: int) -> int:
        return 2 * (address - self.range.low) + isa


class PlannedCode:
    """The ranges that the hooks know, in the array that they search."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._planned: dict[CodeRange, WriteSets] = {}
        self._words = np.zeros(0, np.uint64)

    def plan(self, ranges: Iterable[CodeRange]) -> None:
        """From now on code lies in these disjoint ranges. What is known of one that was there stays known."""
        ordered = sorted(ranges, key=lambda each: (not each.writable, each.low))
        self._planned = {
            each: self._planned.get(each) or WriteSets(each, np.zeros(2 * each.size, np.uint64)) for each in ordered
        }
        words = [(each.low, each.size, sets.entries.ctypes.data) for each, sets in self._planned.items()]
        self._words = np.array(words, np.uint64).reshape(-1)
        state = self._state
        state.ranges, state.range_count = self._words.ctypes.data, len(ordered)
        state.writable_count = sum(each.writable for each in ordered)
        # The range in use, and the entry of the instruction that was last, may be gone.
        state.code = state.code_size = state.table = state.written = state.entry = 0

    def learn(self, address: int, isa: int, entry: int) -> None:
        """Note what is known of an instruction. Its address lies in a range."""
        sets = next(s for r, s in self._planned.items() if r.low <= address < r.low + r.size)
        sets.entries[sets.place(address, isa)] = entry

    def forget(self, low: int, end: int) -> None:
        """The bytes [low, end) may have changed: every instruction that they may belong to is new."""
        for span, sets in self._planned.items():
            first, last = max(low - hooks.LONGEST + 1, span.low), min(end, span.low + span.size)
            if first < last:
                sets.entries[sets.place(first, 0) : sets.place(last, 0)] = 0

    def forget_all(self) -> None:
        """Every instruction is new."""
        ranges, self._planned = tuple(self._planned), {}
        self.plan(ranges)
