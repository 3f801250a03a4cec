"""What the rules know between two pieces of a trace: the activations, and where they come back to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.truth.model import Activations
from testbed.truth.native.columns import (
    ALIVE,
    CALLED_AGAIN,
    CAME_BACK,
    CERTAIN,
    CFA,
    ENDED_ROW,
    ENDED_SITE,
    ENTRY,
    GOES_FROM,
    GOES_ON,
    JUMP_PC,
    JUMP_SITE,
    LANDED,
    LAST_LEFT,
    LEFT_SHOWN,
    LEFT_SWITCHED,
    NOT_OVER,
    PARENT,
    PROMISED,
    RETURN,
    RETURNED,
    SITE,
    TARGET,
    THROWN,
)
from testbed.truth.native.living import mark_callers
from testbed.truth.straight import Ended

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Standing:
    """Activations in the columns of `testbed.truth.native.walk`, the innermost one, and where they come back to.

    ``latest[i]`` is the activation opened last that comes back to ``places[i]`` (return address, CFA).
    """

    links: Ints = field(repr=False)
    addresses: Words = field(repr=False)
    opened: Ints = field(repr=False)
    marks: NDArray[np.bool_] = field(repr=False)
    top: int
    places: Words = field(repr=False)
    latest: Ints = field(repr=False)
    left: Words = field(repr=False)
    way: Words = field(repr=False)

    def __len__(self) -> int:
        return len(self.opened)

    def activations(self) -> Activations:
        """As the truth has them."""
        parents = self.links[:, PARENT].astype(np.int32)
        inner = parents >= 0
        returns, cfas = (np.where(inner, self.addresses[:, i], np.uint64(0)) for i in (RETURN, CFA))
        entries, goes_on = (self.addresses[:, i].copy() for i in (ENTRY, GOES_ON))
        return Activations(parents, returns, cfas, entries, self.opened.copy(), goes_on)

    def sites(self, mark: int) -> frozenset[int]:
        """The call sites of the activations with a mark."""
        return frozenset(np.unique(self.addresses[self.marks[:, mark], SITE]).tolist())

    @property
    def thrown(self) -> frozenset[tuple[int, int]]:
        """The call sites of those that were thrown away by their parent's return, and where they would come back."""
        return _pairs(self.addresses[self.marks[:, THROWN]], SITE, RETURN)

    @property
    def no_landings(self) -> frozenset[tuple[int, int]]:
        """The jumps that were thought to land, or to end something, and did not."""
        landings = _pairs(self.left[self.left[:, LEFT_SHOWN] != 0], JUMP_SITE, JUMP_PC)
        return landings | _pairs(self.addresses[self.marks[:, NOT_OVER]], GOES_FROM, GOES_ON)

    @property
    def switches(self) -> frozenset[tuple[int, int]]:
        """The jumps that were thought to land and went to another stack."""
        return _pairs(self.left[self.left[:, LEFT_SWITCHED] != 0], JUMP_SITE, JUMP_PC)

    @property
    def handed(self) -> frozenset[tuple[int, int]]:
        """The jumps that made a promise which was kept."""
        return _pairs(self.addresses[self.marks[:, PROMISED] & self.marks[:, RETURNED]], SITE, TARGET)

    @property
    def straight(self) -> tuple[dict[tuple[int, int], Ended], frozenset[tuple[int, int]]]:
        """The returns of this piece that may have been jumps, one of each; and, of all pieces, those whose caller
        returned later, or called from the same place once more."""
        rows = self.addresses[self.addresses[:, ENDED_ROW] != 0]
        columns = [ENDED_SITE, RETURN, ENDED_ROW, SITE, TARGET]
        each = rows[_first_of_each(rows)][:, columns].tolist()
        ended = {(site, fall): Ended(row, call, callee) for site, fall, row, call, callee in each}
        lived_on = self.marks[:, CALLED_AGAIN] | self.marks[self.links[:, PARENT], CAME_BACK]
        rows = self.addresses[lived_on & (self.addresses[:, ENDED_SITE] != 0)]
        return ended, _pairs(rows[_first_of_each(rows)], ENDED_SITE, RETURN)

    @property
    def still_open(self) -> frozenset[int]:
        """The call sites of activations that have come back elsewhere, by their jump alone, if the run ends here."""
        found, index = set(), self.top
        while index >= 0:
            if self.marks[index, CERTAIN]:
                found.add(int(self.addresses[index, SITE]))
            index = int(self.links[index, PARENT])
        return frozenset(found)


def _first_of_each(rows: Words) -> Ints:
    """The rows, one for each return that may have been a jump: a run has millions of them, and its code few."""
    keys = rows[:, ENDED_SITE] * np.uint64(0x9E37_79B9_7F4A_7C15) ^ rows[:, RETURN]
    first: Ints = np.unique(keys, return_index=True)[1]
    return first


def _pairs(rows: Words, first: int, second: int) -> frozenset[tuple[int, int]]:
    """Two columns of some rows."""
    return frozenset(map(tuple, rows[:, [first, second]].tolist()))


def forget(standing: Standing) -> tuple[Standing, Ints]:
    """Without the activations that are over and that nothing can come back to; and the numbers of those that stay.

    What stays: whoever is alive, whoever was opened last of those that come back to one place, and all their callers.
    """
    keep = standing.marks[:, ALIVE].copy()
    keep[standing.top] = True
    there = standing.latest >= 0
    keep[standing.latest[there]] = True
    stays = with_callers(keep, standing.links[:, PARENT])
    number = np.full(len(standing) + 1, -1, np.int64)  # the last place is for -1
    number[stays] = np.arange(len(stays))
    links = standing.links[stays]
    links[:, :2] = number[links[:, :2]]
    rows = [LAST_LEFT, LANDED]
    left, here = np.unique(links[:, rows], return_inverse=True)
    here = here.reshape(-1, len(rows))
    if len(left) and left[0] < 0:
        left = left[1:]
        here = here - 1
    links[:, rows] = here
    addresses = standing.addresses[stays]
    addresses[:, ENDED_ROW] = 0
    return (
        Standing(
            links,
            addresses,
            standing.opened[stays],
            standing.marks[stays],
            int(number[standing.top]),
            standing.places[there],
            number[standing.latest[there]],
            standing.left[left],
            standing.way,
        ),
        stays,
    )


def with_callers(chosen: NDArray[np.bool_], parent: NDArray[np.integer]) -> Ints:
    """The numbers of some activations and of all their callers, in order; a caller comes before what it called."""
    found = chosen.copy()
    native(mark_callers)(found, parent)
    return np.flatnonzero(found)
