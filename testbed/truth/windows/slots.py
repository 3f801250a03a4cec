"""Words stored windows ago that look like return addresses: `testbed.truth.leftovers`, carried on.

A slot that is not overwritten is given to the next window as an entry of its journal, at its first row: it stores what
is there already.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace, Writes
from testbed.truth.leftovers import at_or_above_sp, code_slots, overwritten, owners, slots_of
from testbed.truth.model import Activations
from testbed.truth.transfers import Bools

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OpenSlots:
    """Stores that are still in memory, in order; ``since`` is the step from which each one misleads."""

    address: NDArray[np.uint64] = field(repr=False)
    size: NDArray[np.uint8] = field(repr=False)
    value: NDArray[np.uint64] = field(repr=False)
    since: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.since)

    @classmethod
    def none(cls) -> OpenSlots:
        return cls(np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.uint64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots that matter in a window: (first row, end, address) of each; ``after`` goes on to the next."""

    trace: Trace = field(repr=False)
    returns: tuple[Ints, Ints, NDArray[np.uint64]] = field(repr=False)
    pointers: tuple[Ints, Ints, NDArray[np.uint64]] = field(repr=False)
    after: OpenSlots = field(repr=False)

    def leftovers(self) -> Bools:
        return at_or_above_sp(self.trace, *self.returns)

    def code_pointers(self) -> Bools:
        return at_or_above_sp(self.trace, *self.pointers)


def find_slots(
    trace: Trace,
    before: OpenSlots,
    activations: Activations,
    node: NDArray[np.int32],
    last: Ints,
    returns: NDArray[np.uint64],
    rows: tuple[int, int],
    offset: int,
) -> Slots:
    """The slots of a window. ``last`` is the last row of each activation and of what it called, in any window.

    The stores of the rows ``rows[0]`` to before ``rows[1]`` are this window's; step ``s`` is row ``s + offset``.
    """
    low, high = np.searchsorted(trace.writes.step, rows).tolist()
    writes = trace.writes
    journal = Writes(
        np.concatenate((np.zeros(len(before), np.uint32), writes.step[low:high])),
        np.concatenate((before.address, writes.address[low:high])),
        np.concatenate((before.size, writes.size[low:high])),
        np.concatenate((before.value, writes.value[low:high])),
    )
    stored = replace(trace, writes=journal)
    never = len(trace)
    until = overwritten(stored, np.arange(len(journal)))
    step = journal.step.astype(np.int64)
    since = step + 1
    since[: len(before)] = before.since + offset
    slots = slots_of(stored, returns)
    new = slots[slots >= len(before)]
    since[new] = np.maximum(step[new], last[owners(stored, activations, node, new)]) + 1
    code = code_slots(stored, returns)
    stays = np.concatenate((slots, code))
    stays = np.sort(stays[until[stays] == never])
    after = OpenSlots(journal.address[stays], journal.size[stays], journal.value[stays], since[stays] - offset)
    found = tuple((since[which], until[which] + 1, journal.address[which]) for which in (slots, code))
    return Slots(trace, found[0], found[1], after)
