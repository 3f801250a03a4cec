"""The native pass over a trace, or over one piece of it after the other.

What the rules know between two pieces is `Standing`: the activations that are alive, or that a transfer may still come
back to, and the places. It does not grow with the run, only with its depth and its call sites.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.model import Activations, Path
from testbed.truth.native.walk import (
    ALIVE,
    CFA,
    ENTRY,
    PARENT,
    RETURN,
    RETURNED,
    SITE,
    THROWN,
    Log,
    Setting,
    Tree,
    region_of,
    walk,
)
from testbed.truth.transfers import Transfers

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Item = TypeVar("Item", bound=np.generic)


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

    def __len__(self) -> int:
        return len(self.opened)

    def activations(self) -> Activations:
        """As the truth has them."""
        parents = self.links[:, PARENT].astype(np.int32)
        inner = parents >= 0
        returns, cfas = (np.where(inner, self.addresses[:, i], np.uint64(0)) for i in (RETURN, CFA))
        return Activations(parents, returns, cfas, self.addresses[:, ENTRY].copy(), self.opened.copy())

    def sites(self, mark: int) -> frozenset[int]:
        """The call sites of the activations with a mark."""
        return frozenset(np.unique(self.addresses[self.marks[:, mark], SITE]).tolist())


class Events(NamedTuple):
    """The candidate steps of `testbed.truth.transfers.Event` in columns."""

    steps: Ints
    pc: Words
    sp: Words
    site: Words
    fall: Words
    transfer: NDArray[np.bool_]
    call: NDArray[np.bool_]

    @classmethod
    def of(cls, transfers: Transfers, first: int = 0, end: int | None = None) -> Events:
        """Those of the rows from ``first`` to ``end``."""
        trace = transfers.trace
        steps = np.flatnonzero((transfers.transfer | transfers.call)[first:end]) + first
        return cls(
            steps,
            trace.pc[steps],
            trace.sp[steps],
            trace.pc[steps - 1],
            transfers.fall[steps],
            transfers.transfer[steps],
            transfers.call[steps],
        )


@dataclass(frozen=True, eq=False)
class Walked:
    """A pass over some steps: what stands at its end, nothing forgotten, and how it came there."""

    standing: Standing
    change_steps: Ints
    change_nodes: NDArray[np.int32]
    jumps: tuple[tuple[int, int], ...]

    def nodes(self, end: int) -> NDArray[np.int32]:
        """The innermost activation of each step, up to ``end``."""
        return np.repeat(self.change_nodes, np.diff(np.append(self.change_steps, end)))


def standing_at_start(trace: Trace) -> Standing:
    """Before anything was called: the bottom of the first stack."""
    sp = trace.sp[0]
    return Standing(
        np.array([[-1, 0, region_of(sp, _setting(trace))]], np.int64),
        np.array([[0, sp, 0, 0]], np.uint64),
        np.zeros(1, np.int64),
        np.array([[True, False, False, False]]),
        0,
        np.empty((0, 2), np.uint64),
        np.empty(0, np.int64),
    )


def go_on(trace: Trace, before: Standing, events: Events, disbelieved: frozenset[int], first: int = 0) -> Walked:
    """Follow control through more events. Steps are those of the events; activations keep their numbers."""
    used, count = len(before), len(events.steps)
    entry_cfa = np.uint64(trace.arch.entry_cfa)
    believed = events.call & ~np.isin(events.site, np.array(sorted(disbelieved), np.uint64))
    promised, here, known, places = _number_places(before.places, events, events.sp + entry_cfa, believed)
    latest = np.full(len(places), -1, np.int64)
    latest[known] = before.latest
    tree = Tree(
        _longer(before.links, count),
        _longer(before.addresses, count),
        _longer(before.opened, count),
        _longer(before.marks, count),
        latest,
    )
    room = count + 1
    log = Log(np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32))
    used, top, changes, jumps = walk(
        events._replace(call=believed),
        np.where(believed, promised, here),
        tree,
        _setting(trace),
        log,
        np.int64(used),
        np.int64(before.top),
        np.int64(first),
    )
    standing = Standing(
        tree.links[:used], tree.addresses[:used], tree.opened[:used], tree.marks[:used], int(top), places, latest
    )
    left = tuple(zip(log.jump_steps[:jumps].tolist(), log.jump_nodes[:jumps].tolist(), strict=True))
    return Walked(standing, log.change_steps[:changes], log.change_nodes[:changes], left)


def follow_natively(trace: Trace, transfers: Transfers, rounds: int) -> Path:
    """What `testbed.truth.follow.follow` finds, for a long trace."""
    events = Events.of(transfers)
    disbelieved: frozenset[int] = frozenset()
    for _ in range(rounds):
        walked = go_on(trace, standing_at_start(trace), events, disbelieved)
        refuted = walked.standing.sites(THROWN) - walked.standing.sites(RETURNED)
        if refuted <= disbelieved:
            break
        disbelieved |= refuted
    return Path(walked.standing.activations(), walked.nodes(len(trace)), walked.jumps, disbelieved)


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
    return (
        Standing(
            links,
            standing.addresses[stays],
            standing.opened[stays],
            standing.marks[stays],
            int(number[standing.top]),
            standing.places[there],
            number[standing.latest[there]],
        ),
        stays,
    )


def with_callers(chosen: NDArray[np.bool_], parent: NDArray[np.integer]) -> Ints:
    """The numbers of some activations and of all their callers, in order; a caller comes before what it called."""
    found = chosen.copy()
    new = np.flatnonzero(chosen)
    while len(new):
        outer = np.unique(parent[new])
        new = outer[(outer >= 0) & ~found[np.maximum(outer, 0)]]
        found[new] = True
    return np.flatnonzero(found)


def _longer(column: NDArray[Item], more: int) -> NDArray[Item]:
    """A column with room for more rows."""
    out = np.empty((len(column) + more, *column.shape[1:]), column.dtype)
    out[: len(column)] = column
    return out


def _setting(trace: Trace) -> Setting:
    regions = sorted((region.address, region.end) for region in trace.initial)
    starts, ends = (np.array([region[side] for region in regions], np.uint64) for side in (0, 1))
    return Setting(starts, ends, trace.arch.link is None, np.uint64(trace.arch.entry_cfa))


def _number_places(known: Words, events: Events, cfa: Words, call: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints, Words]:
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
