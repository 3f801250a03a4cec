"""What only the end of a long run can tell of its steps: found out the first time, known the second time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Exited
from testbed.truth.hindsight import Learned
from testbed.truth.promises import NO_LINKS, Links
from testbed.truth.straight import OnceMore, Straight
from testbed.words.errors import EmulationError


class Extent(NamedTuple):
    """The first and the last settled step of a segment, and whether FP kept its value in all of it."""

    first: int
    last: int
    still: bool


@dataclass(eq=False)
class Known:
    """What is found out about a run of which one window is looked at after the other.

    ``learned`` is what passes have shown of calls and jumps, ``revived`` the activations, by the step at which they
    were opened, that were over and went on windows later: both are found in one pass and hold in the next.
    ``extents`` are the segments of more than one window, by their first step; ``cuts`` the steps that turned out, a
    window later, to begin one; ``transitions`` the ranges of steps that a jump in a later window made one of.
    ``goes_on`` is where control went when an activation of more than one window was over, if not to its return
    address; ``returns`` are the return addresses of all activations. ``revised`` are ranges of steps of whose windows a
    first look took something else for granted (`testbed.truth.windows.assumed`). None of this grows with the length of
    the run alone: with its depth, its code, and the number of windows.
    """

    learned: Learned = field(default_factory=Learned)
    revived: frozenset[int] = frozenset()
    extents: dict[int, Extent] = field(default_factory=dict)
    cuts: set[int] = field(default_factory=set)
    transitions: list[tuple[int, int]] = field(default_factory=list)
    returns: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    goes_on: dict[int, int] = field(default_factory=dict)
    returned: frozenset[int] = frozenset()  # call sites of what came back
    thrown: frozenset[tuple[int, int]] = frozenset()  # those thrown away by their parent's return; where they come back
    led: frozenset[int] = frozenset()  # call sites of those that had jumped as if they came back elsewhere
    no_landings: frozenset[tuple[int, int]] = frozenset()  # jumps that were shown not to land
    switches: frozenset[tuple[int, int]] = frozenset()  # jumps that were shown to go to another stack
    kept: frozenset[int] = frozenset()  # return addresses that were stored
    arrived: frozenset[int] = frozenset()  # where returns arrived that belong to no call
    promised: frozenset[int] = frozenset()  # the pcs of jumps that made a promise
    handed: frozenset[tuple[int, int]] = frozenset()  # and, with their targets, of those that were kept
    straight: Straight = field(default_factory=Straight)  # returns that may have been jumps
    once_more: OnceMore = field(default_factory=OnceMore)
    revised: list[tuple[int, int]] = field(default_factory=list)  # steps of which a later window said something else
    links: Links = NO_LINKS
    reviving: set[int] = field(default_factory=set)
    steps: int = 0
    windows: int = 0
    ending: Exited | EmulationError | None = None

    @property
    def shown(self) -> Learned:
        """What is known of calls and jumps after this pass."""
        thrown = frozenset(site for site, fall in self.thrown if fall not in self.kept)
        no_calls = ((thrown - self.led - self.learned.elsewhere) | self.promised) - self.returned
        no_calls |= self.straight.no_calls(self.kept)
        jumps = (self.no_landings, self.switches)
        behind = (self.handed, self.straight.no_returns)
        return self.learned | Learned(no_calls, self.led, *jumps, self.arrived, *behind)

    @property
    def complete(self) -> bool:
        """True where another pass would find nothing new."""
        return self.shown == self.learned and self.reviving <= self.revived
