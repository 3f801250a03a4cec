"""The rules of `testbed.truth.follow`, natively, for traces of millions of steps.

The readable rules stay in `follow`; this is the same state machine over columns, and a test holds it to them. A
table of places to come back to needs no dictionary here: every (return address, CFA) that some call of the trace
promises gets a number beforehand, and a transfer carries the number of the place that it reaches, or -1.

Compiled once by numba and kept on disk; nothing imports this module before a trace is long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.columns import Activations
from testbed.truth.model import Path
from testbed.truth.transfers import Transfers

# Columns of `links`: activation -> parent, opening event, bottom of its stack, region of its stack.
PARENT, EVENT, BOTTOM, REGION = range(4)


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _region_of(sp: Any, starts: Any, ends: Any) -> int:
    """The mapped region that a push at ``sp`` writes to, or -1."""
    for i in range(len(starts)):
        if starts[i] < sp <= ends[i]:
            return i
    return -1


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _same_chain(links: Any, index: Any, target: Any) -> bool:
    while index >= 0:
        if index == target:
            return True
        index = links[index, PARENT]
    return False


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def walk(
    steps: Any,
    pcs: Any,
    sps: Any,
    falls: Any,
    transfers: Any,
    calls: Any,
    places: Any,
    place_count: Any,
    first_sp: Any,
    entry_cfa: Any,
    pushes: Any,
    starts: Any,
    ends: Any,
) -> Any:
    """One pass over the events. Returns the columns of the activations, the changes of the innermost one, the
    jumps, and per event whether what it opened came back, and whether it was thrown away by its parent's return."""
    count = len(steps)
    links = np.empty((count + 1, 4), np.int64)
    addresses = np.empty((count + 1, 3), np.uint64)  # return address, entry SP, CFA
    opened = np.empty(count + 1, np.int64)
    alive = np.zeros(count + 1, np.bool_)
    change_steps, change_nodes = np.empty(count + 1, np.int64), np.empty(count + 1, np.int32)
    jump_steps, jump_nodes = np.empty(count, np.int64), np.empty(count, np.int32)
    returned, thrown = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    latest = np.full(place_count, -1, np.int64)  # by place: the activation opened last that comes back there
    used, changes, jumps = 0, 0, 0

    # The bottom of the first stack.
    links[0, PARENT], links[0, EVENT], links[0, BOTTOM] = -1, -1, 0
    links[0, REGION] = _region_of(first_sp, starts, ends)
    addresses[0, 0], addresses[0, 1], addresses[0, 2] = 0, first_sp, 0
    opened[0], alive[0] = 0, True
    change_steps[0], change_nodes[0] = 0, 0
    used, changes, top = 1, 1, 0

    for e in range(count):
        step, pc, sp = steps[e], pcs[e], sps[e]
        new_top = top
        bottom = False
        if calls[e]:
            links[used, PARENT], links[used, EVENT], links[used, BOTTOM] = top, e, links[top, BOTTOM]
            region = links[top, REGION]
            if region < 0 or not starts[region] < sp <= ends[region]:
                region = _region_of(sp, starts, ends)
            links[used, REGION] = region
            addresses[used, 0], addresses[used, 1], addresses[used, 2] = falls[e], sp, sp + entry_cfa
            opened[used], alive[used] = step, True
            latest[places[e]] = used
            new_top = used
            used += 1
        elif not transfers[e]:
            continue
        elif links[top, PARENT] >= 0 and pc == addresses[top, 0] and sp == addresses[top, 2]:
            returned[links[top, EVENT]] = True
            alive[top] = False
            new_top = links[top, PARENT]
        else:
            came = latest[places[e]] if places[e] >= 0 else -1
            target = links[came, PARENT] if came >= 0 else -1
            if target >= 0 and alive[target]:
                if target == top:
                    continue
                returned[links[came, EVENT]] = True
                jump_steps[jumps], jump_nodes[jumps] = step, top
                jumps += 1
                if _same_chain(links, top, target):
                    _throw(links, addresses, alive, thrown, transfers, top, target, pc, sp, pushes)
                new_top = target
            else:
                region = links[top, REGION]
                inner = links[top, PARENT] >= 0
                elsewhere = False
                if inner:
                    if region >= 0 and starts[region] < sp <= ends[region]:
                        low = links[top, BOTTOM]
                        elsewhere = links[low, REGION] == region and sp > addresses[low, 1] > addresses[top, 1]
                    else:
                        elsewhere = _region_of(sp, starts, ends) >= 0
                        index = top
                        while elsewhere and index >= 0:
                            region = links[index, REGION]
                            if region >= 0 and starts[region] < sp <= ends[region]:
                                elsewhere = False
                            index = links[index, PARENT]
                if elsewhere:
                    jump_steps[jumps], jump_nodes[jumps] = step, top
                    jumps += 1
                    bottom = True
                elif inner and sp > addresses[top, 1]:
                    parent = links[target, PARENT] if target >= 0 else -1
                    if parent >= 0 and alive[parent]:
                        jump_steps[jumps], jump_nodes[jumps] = step, top
                        jumps += 1
                        if _same_chain(links, top, parent):
                            _throw(links, addresses, alive, thrown, transfers, top, parent, pc, sp, pushes)
                        alive[target] = True
                        new_top = target
                    else:
                        outer = _landing(links, addresses, starts, ends, top, sp, pushes)
                        if outer == top:
                            continue
                        if pc != addresses[top, 0]:
                            jump_steps[jumps], jump_nodes[jumps] = step, top
                            jumps += 1
                        else:
                            returned[links[top, EVENT]] = True
                        _throw(links, addresses, alive, thrown, transfers, top, outer, pc, sp, pushes)
                        new_top = outer
                else:
                    continue
        if bottom:
            links[used, PARENT], links[used, EVENT], links[used, BOTTOM] = -1, -1, used
            region = links[top, REGION]
            if region < 0 or not starts[region] < sp <= ends[region]:
                region = _region_of(sp, starts, ends)
            links[used, REGION] = region
            addresses[used, 0], addresses[used, 1], addresses[used, 2] = 0, sp, 0
            opened[used], alive[used] = step, True
            new_top = used
            used += 1
        top = new_top
        if change_steps[changes - 1] == step:
            changes -= 1
        change_steps[changes], change_nodes[changes] = step, top
        changes += 1
    return (
        links[:used],
        addresses[:used],
        opened[:used],
        change_steps[:changes],
        change_nodes[:changes],
        jump_steps[:jumps],
        jump_nodes[:jumps],
        returned,
        thrown,
    )


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _throw(
    links: Any,
    addresses: Any,
    alive: Any,
    thrown: Any,
    transfers: Any,
    top: Any,
    outer: Any,
    pc: Any,
    sp: Any,
    pushes: Any,
) -> None:
    """The activations from ``top`` up to, not including, ``outer`` are over without a return of their own."""
    index = top
    while index != outer and index >= 0:
        alive[index] = False
        parent, event = links[index, PARENT], links[index, EVENT]
        if event >= 0 and parent >= 0:
            ordinary = links[parent, PARENT] >= 0 and pc == addresses[parent, 0] and sp == addresses[parent, 2]
            if ordinary and not (pushes and transfers[event]):
                thrown[event] = True
        index = parent


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _landing(links: Any, addresses: Any, starts: Any, ends: Any, top: Any, sp: Any, pushes: Any) -> Any:
    """The activation that a landing pad belongs to: the first on the chain that is not below ``sp``."""
    equal = not pushes
    index = top
    while index >= 0:
        region = links[index, REGION]
        here = region >= 0 and starts[region] < sp <= ends[region]
        if links[index, PARENT] < 0 or (here and addresses[index, 1] > sp):
            break
        if here and addresses[index, 1] == sp:
            if not equal:
                break
            equal = False
        index = links[index, PARENT]
    return index


def follow_natively(trace: Trace, transfers: Transfers, rounds: int) -> Path:
    """What `testbed.truth.follow.follow` finds, for a long trace."""
    steps = np.flatnonzero(transfers.transfer | transfers.call)
    pc, sp, fall = trace.pc[steps], trace.sp[steps], transfers.fall[steps]
    site, transfer, call = trace.pc[steps - 1], transfers.transfer[steps], transfers.call[steps]
    entry_cfa = np.uint64(trace.arch.entry_cfa)
    promised, here, count = _number_places(pc, sp, fall, sp + entry_cfa, call)
    regions = sorted((region.address, region.end) for region in trace.initial)
    starts, ends = (np.array([r[i] for r in regions], np.uint64) for i in (0, 1))
    disbelieved: frozenset[int] = frozenset()
    for _ in range(rounds):
        believed = call & ~np.isin(site, np.array(sorted(disbelieved), np.uint64))
        places = np.where(believed, promised, here)
        found = walk(
            steps,
            pc,
            sp,
            fall,
            transfer,
            believed,
            places,
            count,
            trace.sp[0],
            entry_cfa,
            trace.arch.link is None,
            starts,
            ends,
        )
        returned, thrown = found[-2], found[-1]
        refuted = frozenset(site[thrown].tolist()) - frozenset(site[returned].tolist())
        if refuted <= disbelieved:
            break
        disbelieved |= refuted
    links, addresses, opened, change_steps, change_nodes, jump_steps, jump_nodes, _, _ = found
    activations = Activations(
        links[:, PARENT].astype(np.int32), addresses[:, 0], addresses[:, 2], addresses[:, 1], opened
    )
    node = np.repeat(change_nodes, np.diff(np.append(change_steps, len(trace))))
    jumps = tuple(zip(jump_steps.tolist(), jump_nodes.tolist(), strict=True))
    return Path(activations, node, jumps, disbelieved)


def _number_places(
    pc: NDArray[np.uint64],
    sp: NDArray[np.uint64],
    fall: NDArray[np.uint64],
    cfa: NDArray[np.uint64],
    call: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """For each event: the number of the place (return address, CFA) that it promises, if it is a call; the number
    of the promised place that control is at, or -1; and how many places there are."""
    codes, code = np.unique(np.concatenate([fall, pc]), return_inverse=True)
    _, stack = np.unique(np.concatenate([cfa, sp]), return_inverse=True)
    keys = stack.reshape(-1).astype(np.int64) * len(codes) + code.reshape(-1)
    promise, here = keys[: len(pc)], keys[len(pc) :]
    places = np.unique(promise[call])
    if len(places) == 0:
        nowhere = np.full(len(pc), -1, np.int64)
        return nowhere, nowhere, 0
    promised = np.where(call, np.searchsorted(places, promise), -1)
    found = np.minimum(np.searchsorted(places, here), len(places) - 1)
    return promised, np.where(places[found] == here, found, -1), len(places)
