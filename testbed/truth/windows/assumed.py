"""Speculation: what the first look at a window assumes, and only later windows can confirm.

A window is judged when it is first seen, by what is known then. Most often that turns out to be all there was to know:
code that a run repeats shows in its first windows what it does. At the end of the pass `Assumed.holds` says whether
that was so; the windows of which it was not are looked at once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from testbed.truth.windows.known import Extent, Known


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


@dataclass(eq=False)
class Assumed:
    """Of the steps from ``first`` to ``end``: the extents of segments."""

    first: int
    end: int
    guesses: list[Guess] = field(default_factory=list)

    def holds(self, known: Known) -> bool:
        """True where the end of a pass says nothing else."""
        if any(first < self.end and end > self.first for first, end in known.revised):
            return False
        return all(guess.holds(known) for guess in self.guesses)
