"""The native pass over a trace, or over one piece of it after the other.

What the rules know between two pieces is `Standing`: the activations that are alive, or that a transfer may still come
back to, and the places. It does not grow with the run, only with its depth and its call sites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.truth.hands import COMPUTES_PC, address_columns, link_column
from testbed.truth.hindsight import Learned
from testbed.truth.links import kept_links
from testbed.truth.model import Path
from testbed.truth.native.columns import (
    ADDRESSES,
    ALIVE,
    ENTRY,
    LED,
    LEFT_COLUMNS,
    MARKS,
    PROMISED,
    RETURNED,
    WAY_HELD,
    Log,
    Setting,
    Tree,
)
from testbed.truth.native.events import Events
from testbed.truth.native.living import region_of
from testbed.truth.native.places import number_places
from testbed.truth.native.standing import Standing
from testbed.truth.native.walk import walk
from testbed.truth.promises import find_promises, links
from testbed.truth.straight import OnceMore
from testbed.truth.transfers import Transfers

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Item = TypeVar("Item", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Walked:
    """A pass over some steps: what stands at its end, nothing forgotten, and how it came there.

    ``arrived`` are the addresses at which a return arrived that belongs to no call.
    """

    standing: Standing
    change_steps: Ints
    change_nodes: NDArray[np.int32]
    jumps: tuple[tuple[int, int], ...]
    arrived: frozenset[int]

    def nodes(self, end: int) -> NDArray[np.int32]:
        """The innermost activation of each step, up to ``end``."""
        return np.repeat(self.change_nodes, np.diff(np.append(self.change_steps, end)))


def standing_at_start(trace: Trace) -> Standing:
    """Before anything was called: the bottom of the first stack."""
    sp = trace.sp[0]
    return Standing(
        np.array([[-1, 0, native(region_of)(sp, _setting(trace)), -1, -1]], np.int64),
        np.array([[{ENTRY: sp}.get(column, 0) for column in range(ADDRESSES)]], np.uint64),
        np.zeros(1, np.int64),
        np.array([[mark == ALIVE for mark in range(MARKS)]]),
        0,
        np.empty((0, 2), np.uint64),
        np.empty(0, np.int64),
        np.empty((0, LEFT_COLUMNS), np.uint64),
        np.zeros(WAY_HELD + len(trace.arch.registers), np.uint64),
    )


def go_on(trace: Trace, before: Standing, events: Events, learned: Learned, first: int = 0) -> Walked:
    """Follow control through more events. Steps are those of the events; activations keep their numbers."""
    used, count, cfa = len(before), len(events.steps), events.sp + np.uint64(trace.arch.entry_cfa)
    events = events.knowing(learned)
    promised, here, known, places = native(number_places)(before.places, events, cfa, events.call)
    latest = np.full(len(places), -1, np.int64)
    latest[known] = before.latest
    tree = Tree(
        _longer(before.links, count),
        _longer(before.addresses, count),
        _longer(before.opened, count),
        _longer(before.marks, count),
        latest,
        _longer(before.left, count),
        np.array([len(before.left)], np.int64),
        before.way.copy(),
        np.zeros(count, np.bool_),
    )
    room = count + 1
    log = Log(np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32))
    used, top, changes, jumps = native(walk)(
        events,
        np.where(events.call, promised, here),
        tree,
        _setting(trace),
        log,
        np.int64(used),
        np.int64(before.top),
        np.int64(first),
    )
    standing = Standing(
        tree.links[:used],
        tree.addresses[:used],
        tree.opened[:used],
        tree.marks[:used],
        int(top),
        places,
        latest,
        tree.left[: int(tree.left_used[0])],
        tree.way,
    )
    left = tuple(zip(log.jump_steps[:jumps].tolist(), log.jump_nodes[:jumps].tolist(), strict=True))
    arrived = frozenset(events.pc[tree.arrived].tolist())
    return Walked(standing, log.change_steps[:changes], log.change_nodes[:changes], left, arrived)


def follow_natively(trace: Trace, transfers: Transfers, rounds: int) -> Path:
    """What `testbed.truth.follow.follow` finds, for a long trace."""
    alone = Events.of(transfers).at_made(links(transfers).made)
    learned, kept, once_more = Learned(), frozenset[int](), OnceMore()
    for _ in range(rounds):
        events = alone.with_promises(find_promises(transfers, learned.arrived))
        walked = go_on(trace, standing_at_start(trace), events, learned)
        standing = walked.standing
        elsewhere = standing.sites(LED) | (standing.still_open - standing.sites(RETURNED))
        straight = once_more.look(trace, *standing.straight)
        if (standing.thrown or straight.inside) and not kept:  # most runs need not look for them
            kept = frozenset(kept_links(trace).tolist())
        thrown = frozenset(site for site, fall in standing.thrown if fall not in kept)
        no_calls = ((thrown - elsewhere - learned.elsewhere) | standing.sites(PROMISED)) - standing.sites(RETURNED)
        landings = (standing.no_landings, standing.switches)
        jumps = (standing.handed, straight.no_returns)
        no_calls |= straight.no_calls(kept)
        more = learned | Learned(no_calls, elsewhere, *landings, walked.arrived, *jumps)
        if more == learned:
            break
        learned = more
    return Path(walked.standing.activations(), walked.nodes(len(trace)), walked.jumps, learned)


def _longer(column: NDArray[Item], more: int) -> NDArray[Item]:
    """A column with room for more rows."""
    out = np.empty((len(column) + more, *column.shape[1:]), column.dtype)
    out[: len(column)] = column
    return out


def _setting(trace: Trace) -> Setting:
    regions = sorted((region.address, region.end) for region in trace.initial)
    starts, ends = (np.array([region[side] for region in regions], np.uint64) for side in (0, 1))
    arch = trace.arch
    return Setting(
        starts,
        ends,
        arch.link is None,
        np.uint64(arch.entry_cfa),
        np.ascontiguousarray(trace.registers),
        address_columns(arch),
        link_column(arch),
        np.uint64(arch.code_mask & ~arch.signature),
        np.uint64(arch.word if COMPUTES_PC[arch.name] else 0),
    )
