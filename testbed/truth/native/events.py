"""The candidate steps of a trace in columns, and the places that calls promise to come back to, numbered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.truth.hindsight import Learned
from testbed.truth.transfers import Transfers

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


class Events(NamedTuple):
    """The candidate steps of `testbed.truth.transfers.Event` in columns, and their rows in the trace.

    ``elsewhere``: the callee comes back elsewhere. ``stays``: a jump that is no landing. Both are learned.
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
    elsewhere: NDArray[np.bool_]
    stays: NDArray[np.bool_]

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
            nowhere,
            nowhere,
        )

    def knowing(self, learned: Learned) -> Events:
        """The same with what passes have shown."""
        sites = [np.array(sorted(each), np.uint64) for each in (learned.no_calls, learned.elsewhere)]
        stays = self.stays
        if learned.no_landings:
            jumps = np.array(sorted(learned.no_landings), np.uint64)
            stays = np.isin(self.site, jumps[:, 0])
            at = np.flatnonzero(stays)
            pairs = zip(self.site[at].tolist(), self.pc[at].tolist(), strict=True)
            stays[at] = [pair in learned.no_landings for pair in pairs]
        call = self.call & ~np.isin(self.site, sites[0])
        return self._replace(call=call, elsewhere=np.isin(self.site, sites[1]), stays=stays)


def number_places(known: Words, events: Events, cfa: Words, call: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints, Words]:
    """For each event: the number of the place (return address, CFA) that it promises, if it is a call; the number
    of the promised place that control is at, or -1. Then the numbers of the places known before, and all places."""
    codes, code = np.unique(np.concatenate([known[:, 0], events.fall, events.pc]), return_inverse=True)
    stacks, stack = np.unique(np.concatenate([known[:, 1], cfa, events.sp]), return_inverse=True)
    keys = stack.reshape(-1).astype(np.int64) * len(codes) + code.reshape(-1)
    before, promise, here = np.split(keys, [len(known), len(known) + len(events.pc)])
    places = np.unique(np.concatenate([before, promise[call]]))
    if len(places) == 0:
        nowhere = np.full(len(events.pc), -1, np.int64)
        return nowhere, nowhere, np.empty(0, np.int64), np.empty((0, 2), np.uint64)
    promised = np.where(call, np.searchsorted(places, promise), -1)
    found = np.minimum(np.searchsorted(places, here), len(places) - 1)
    pairs = np.stack([codes[places % len(codes)], stacks[places // len(codes)]], axis=1)
    before_now = np.asarray(np.searchsorted(places, before), np.int64)
    return promised, np.where(places[found] == here, found, -1), before_now, pairs
