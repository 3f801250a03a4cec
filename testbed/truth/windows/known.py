"""What only the end of a long run can tell of its steps: found out the first time, known the second time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from testbed.trace import Exited
from testbed.truth.events import Words
from testbed.truth.native import state as names
from testbed.truth.path import FollowedRows, RowReading
from testbed.words.errors import EmulationError


@dataclass(eq=False)
class Known:
    """What is found out about a run of which one window is looked at after the other.

    ``readings`` are of the rows that a later window read in another way, ``before`` those of the passes before;
    activations and other rows go by their number in the run.
    ``transitions`` are the ranges of steps that a jump in a later window made one of.
    ``goes_on`` is where control went when an activation of more than one window was over, if not to its return
    address; ``returns`` are the return addresses of all activations. ``revised`` are ranges of steps of which a later
    window said something else than what was known when they were looked at. None of this grows with the length of the
    run alone: with its depth, its code, and the number of windows.
    """

    readings: dict[int, RowReading] = field(default_factory=dict)
    before: Mapping[int, RowReading] = field(default_factory=dict)
    transitions: list[tuple[int, int]] = field(default_factory=list)
    returns: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    goes_on: dict[int, int] = field(default_factory=dict)
    revised: list[tuple[int, int]] = field(default_factory=list)
    steps: int = 0
    windows: int = 0
    ending: Exited | EmulationError | None = None

    def holds(self, first: int, end: int) -> bool:
        """Has no later window said anything else of the steps from ``first`` to ``end``?"""
        return not any(begin < end and stop > first for begin, stop in self.revised)

    def note(self, found: FollowedRows, before: Mapping[int, RowReading], gone_on: Words, first: int, end: int) -> None:
        """Take down what a window from step ``first`` to ``end`` says of earlier ones: how rows were read ``before``,
        and where the first ones had ``gone_on``."""
        old = len(gone_on)
        opened, serial = found.column(names.OPENED), found.column(names.SERIAL)
        now = found.readings()
        rows = dict(zip(serial[:old].tolist(), range(old), strict=True))
        for number in now.keys() & rows.keys():
            if now[number] != before.get(number):
                self.readings[number] = now[number]
                self.revised.append((int(opened[rows[number]]), first))
        own = found.whose == np.arange(len(found))
        self.returns = _with_more(self.returns, np.unique(found.returns[own & (found.parent >= 0)]))
        went = found.addresses(names.GOES_ON)[:old]
        for index in np.flatnonzero(went != gone_on).tolist():
            self.goes_on[int(serial[index])] = int(went[index])
            self.revised.append((int(opened[index]), end))


def _with_more(known: Words, more: Words) -> Words:
    """Both, in order; the very same array where there is nothing new."""
    if len(known):
        more = more[known[np.minimum(np.searchsorted(known, more), len(known) - 1)] != more]
    return np.union1d(known, more) if len(more) else known
