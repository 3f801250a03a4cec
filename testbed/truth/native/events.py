"""The candidate steps of a trace in columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.truth.hindsight import Learned
from testbed.truth.promises import Promises
from testbed.truth.transfers import Transfers

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


class Events(NamedTuple):
    """The candidate steps of `testbed.truth.transfers.Event` in columns, and their rows in the trace.

    ``drops``: a call that is none, since its word comes off the stack at once. ``elsewhere``: the callee comes back
    elsewhere. ``stays``: a jump that is no landing. ``switches``: one to another stack. ``handed``: one that has made a
    promise. ``onward``: one that is no return. These five are learned. A ``promise`` is a row of its own behind its
    jump, and counts as a call.
    """

    steps: Ints
    rows: Ints
    pc: Words
    sp: Words
    site: Words
    fall: Words
    before: Words
    transfer: NDArray[np.bool_]
    call: NDArray[np.bool_]
    drops: NDArray[np.bool_]
    promise: NDArray[np.bool_]
    elsewhere: NDArray[np.bool_]
    stays: NDArray[np.bool_]
    switches: NDArray[np.bool_]
    handed: NDArray[np.bool_]
    onward: NDArray[np.bool_]
    made: NDArray[np.bool_]

    @classmethod
    def of(cls, transfers: Transfers, first: int = 0, end: int | None = None) -> Events:
        """Those of the rows from ``first`` to ``end``."""
        trace = transfers.trace
        steps = np.flatnonzero((transfers.transfer | transfers.call)[first:end]) + first
        nowhere = np.zeros(len(steps), np.bool_)
        return cls(
            steps,
            steps.copy(),
            trace.pc[steps],
            trace.sp[steps],
            trace.pc[steps - 1],
            transfers.fall[steps],
            trace.sp[steps - 1],
            transfers.transfer[steps],
            transfers.call[steps],
            transfers.drops[steps],
            *(nowhere,) * 7,
        )

    def at_made(self, made: frozenset[int]) -> Events:
        """The same with the addresses that a link register held and that no call had made."""
        return self._replace(made=_among(self.pc, made))

    def with_promises(self, promises: Promises) -> Events:
        """The same, each promise behind its jump; those of these rows only."""
        if not len(promises):
            return self
        here = np.flatnonzero(np.isin(promises.steps, self.rows))
        if not len(here):
            return self
        rows = promises.steps[here]
        at = np.searchsorted(self.rows, rows, side="right")
        no, yes = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        behind: list[Any] = [column[at - 1] for column in self]
        made = Events(*behind)._replace(
            sp=promises.sp[here], fall=promises.address[here], transfer=no, call=yes, drops=no, promise=yes
        )
        both: list[Any] = [np.insert(column, at, more) for column, more in zip(self, made, strict=True)]
        return Events(*both)

    def knowing(self, learned: Learned) -> Events:
        """The same with what passes have shown."""
        no_call, elsewhere = (_among(self.site, each) for each in (learned.no_calls, learned.elsewhere))
        stays, switches = self._jumps(learned.no_landings), self._jumps(learned.switches)
        call, drops = self.call & ~no_call, self.drops & ~no_call & ~stays
        handed, onward = self._jumps(learned.handed), self._jumps(learned.no_returns)
        self = self._replace(call=call & ~drops, drops=drops, elsewhere=elsewhere, stays=stays)
        return self._replace(switches=switches, handed=handed, onward=onward)

    def _jumps(self, jumps: frozenset[tuple[int, int]]) -> NDArray[np.bool_]:
        """Which events are some jumps: (site, where it goes)."""
        found = np.zeros(len(self.site), np.bool_)
        if jumps:
            found = np.isin(self.site, np.array(sorted(jumps), np.uint64)[:, 0])
            at = np.flatnonzero(found)
            pairs = zip(self.site[at].tolist(), self.pc[at].tolist(), strict=True)
            found[at] = [pair in jumps for pair in pairs]
        return found


def _among(values: Words, few: frozenset[int]) -> NDArray[np.bool_]:
    """Which values are some of a few; none, most often."""
    return np.isin(values, np.array(sorted(few), np.uint64)) if few else np.zeros(len(values), np.bool_)
