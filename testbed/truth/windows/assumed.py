"""What the first look at a window takes for granted of what only later windows can tell.

A window is judged when it is first seen, by what is known then. Most often that turns out to be all there was to know:
code that a run repeats shows in its first windows what it does. At the end of the pass `Assumed.holds` says whether
that was so; the windows of which it was not are looked at once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.image import LoadedImage
from testbed.truth.function_facts import function_start
from testbed.truth.transfers import distinct
from testbed.truth.windows.hindsight import Extent, Known


class Guess(NamedTuple):
    """The extent by which the steps from ``first`` to ``last`` of a segment were judged.

    ``key`` is the segment's first step, ``own`` the extent of these steps alone: the right one if there are no others.
    """

    key: int
    first: int
    last: int
    extent: Extent
    own: Extent

    def holds(self, known: Known) -> bool:
        """True where the segment's extent says the same of these steps."""
        return self._seen(known.extents.get(self.key) or self.own) == self._seen(self.extent)

    def _seen(self, extent: Extent) -> tuple[int, int, bool]:
        """What an extent says of these steps: which are before it, and which behind it."""
        first = min(max(extent.first, self.first), self.last + 1)
        return first, max(min(extent.last, self.last), self.first - 1), extent.still


FactRows = list[tuple[int, ...]]  # of one function: pcs in order, of ``executed`` with the sizes

# Facts that are asked for by the function of an instruction: what of a function's pcs is looked at.
OF_FUNCTIONS: Mapping[str, Callable[[int, FactRows], object]] = {
    "executed": lambda start, rows: rows,
    "framed": lambda start, rows: (start,) in rows,  # that it has any frame, and whether at its first instruction
    "framed_at": lambda start, rows: rows,  # the same, asked for at a label
    "frame_sizes": lambda start, rows: max(size for _, size in rows),
    "moving": lambda start, rows: rows[0],
    "return_saving": lambda start, rows: rows[-1],
    "saving": lambda start, rows: rows[-1],
    "setting": lambda start, rows: rows,
    "storing": lambda start, rows: True,  # that it has any
    "taking": lambda start, rows: rows[0],
}


@dataclass(eq=False)
class Assumed:
    """Of the steps from ``first`` to ``end``: the extents of segments, and what was ``asked`` of all of the code.

    ``code`` are the instructions at which activations stood there; ``images`` say which functions these are of.
    """

    first: int
    end: int
    images: tuple[LoadedImage, ...] = field(repr=False)
    codes: dict[bytes, NDArray[np.uint64]] = field(default_factory=dict, repr=False)  # one copy of equal ``code``
    guesses: list[Guess] = field(default_factory=list)
    asked: dict[str, NDArray[np.uint64]] = field(default_factory=dict)
    code: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def ask(self, name: str, said: NDArray[np.uint64], pcs: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Note what is ``said`` of all code, the first time. ``pcs`` are where activations stand."""
        if name in OF_FUNCTIONS and not len(self.code):
            code = distinct(pcs)
            self.code = self.codes.setdefault(code.tobytes(), code)
        return self.asked.setdefault(name, said)

    def holds(self, known: Known, starts: dict[int, int]) -> bool:
        """True where the end of a pass says nothing else. ``starts`` keeps where functions begin, for other windows."""
        if any(first < self.end and end > self.first for first, end in known.revised):
            return False
        return all(guess.holds(known) for guess in self.guesses) and all(
            self._same(name, said, getattr(known, name), starts) for name, said in self.asked.items()
        )

    def _same(self, name: str, said: NDArray[np.uint64], now: NDArray[np.uint64], starts: dict[int, int]) -> bool:
        if np.array_equal(said, now):
            return True
        if name not in OF_FUNCTIONS:
            return False
        before, after = self._by_function(said, starts), self._by_function(now, starts)
        if before.keys() != after.keys():
            return False
        looked_at = OF_FUNCTIONS[name]
        return all(looked_at(start, rows) == looked_at(start, after[start]) for start, rows in before.items())

    def _by_function(self, found: NDArray[np.uint64], starts: dict[int, int]) -> dict[int, FactRows]:
        """What was found in the functions of ``code``."""

        def start_of(pc: int) -> int:
            if pc not in starts:
                starts[pc] = function_start(self.images, pc)
            return starts[pc]

        own = set(map(start_of, self.code.tolist()))
        parted: dict[int, FactRows] = {}
        for row in found.reshape(len(found), -1).tolist():
            if (start := start_of(row[0])) in own:
                parted.setdefault(start, []).append(tuple(row))
        return parted
