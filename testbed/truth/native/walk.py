"""The rules of `testbed.truth.follow`, natively, for traces of millions of steps.

The readable rules stay in `follow`; this is the same state machine over columns, and a test holds it to them. A
table of places to come back to needs no dictionary here: every (return address, CFA) that some call promises gets a
number beforehand, and a transfer carries the number of the place that it reaches, or -1.

Compiled once by numba and kept on disk; nothing imports this module before a trace is long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Columns of `links`: activation -> parent, bottom of its stack, region of its stack.
PARENT, BOTTOM, REGION = range(3)
# Columns of `addresses`: return address, entry SP, CFA, and the pc of the call.
RETURN, ENTRY, CFA, SITE = range(4)
# Columns of `marks`: is it alive, did it come back, was it thrown away by its parent's return, did control move.
ALIVE, RETURNED, THROWN, MOVED = range(4)


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def region_of(sp: Any, starts: Any, ends: Any) -> int:
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
    sites: Any,
    transfers: Any,
    calls: Any,
    places: Any,
    links: Any,
    addresses: Any,
    opened: Any,
    marks: Any,
    latest: Any,
    used: Any,
    top: Any,
    first: Any,
    entry_cfa: Any,
    pushes: Any,
    starts: Any,
    ends: Any,
) -> Any:
    """One pass over the events from step ``first`` on, at which ``top`` is the innermost activation.

    ``links``, ``addresses``, ``opened`` and ``marks`` hold ``used`` activations and have room for one more per event;
    ``latest[place]`` is the activation opened last that comes back there, or -1. They are filled in. Returns how many
    activations there are then, the innermost one, its changes (step, activation) and the jumps (step, activation left).
    """
    count = len(steps)
    change_steps, change_nodes = np.empty(count + 1, np.int64), np.empty(count + 1, np.int32)
    jump_steps, jump_nodes = np.empty(count, np.int64), np.empty(count, np.int32)
    change_steps[0], change_nodes[0] = first, top
    changes, jumps = 1, 0

    for e in range(count):
        step, pc, sp = steps[e], pcs[e], sps[e]
        new_top = top
        bottom = False
        if calls[e]:
            links[used, PARENT], links[used, BOTTOM] = top, links[top, BOTTOM]
            region = links[top, REGION]
            if region < 0 or not starts[region] < sp <= ends[region]:
                region = region_of(sp, starts, ends)
            links[used, REGION] = region
            addresses[used, RETURN], addresses[used, ENTRY] = falls[e], sp
            addresses[used, CFA], addresses[used, SITE] = sp + entry_cfa, sites[e]
            opened[used] = step
            marks[used, ALIVE], marks[used, RETURNED], marks[used, THROWN] = True, False, False
            marks[used, MOVED] = transfers[e]
            latest[places[e]] = used
            new_top = used
            used += 1
        elif not transfers[e]:
            continue
        elif links[top, PARENT] >= 0 and pc == addresses[top, RETURN] and sp == addresses[top, CFA]:
            marks[top, RETURNED] = True
            marks[top, ALIVE] = False
            new_top = links[top, PARENT]
        else:
            came = latest[places[e]] if places[e] >= 0 else -1
            target = links[came, PARENT] if came >= 0 else -1
            if target >= 0 and marks[target, ALIVE]:
                if target == top:
                    continue
                marks[came, RETURNED] = True
                jump_steps[jumps], jump_nodes[jumps] = step, top
                jumps += 1
                if _same_chain(links, top, target):
                    _throw(links, addresses, marks, top, target, pc, sp, pushes)
                new_top = target
            else:
                region = links[top, REGION]
                inner = links[top, PARENT] >= 0
                elsewhere = False
                if inner:
                    if region >= 0 and starts[region] < sp <= ends[region]:
                        low = links[top, BOTTOM]
                        elsewhere = links[low, REGION] == region and sp > addresses[low, ENTRY] > addresses[top, ENTRY]
                    else:
                        elsewhere = region_of(sp, starts, ends) >= 0
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
                elif inner and sp > addresses[top, ENTRY]:
                    parent = links[target, PARENT] if target >= 0 else -1
                    if parent >= 0 and marks[parent, ALIVE]:
                        jump_steps[jumps], jump_nodes[jumps] = step, top
                        jumps += 1
                        if _same_chain(links, top, parent):
                            _throw(links, addresses, marks, top, parent, pc, sp, pushes)
                        marks[target, ALIVE] = True
                        new_top = target
                    else:
                        outer = _landing(links, addresses, starts, ends, top, sp, pushes)
                        if outer == top:
                            continue
                        if pc != addresses[top, RETURN]:
                            jump_steps[jumps], jump_nodes[jumps] = step, top
                            jumps += 1
                        else:
                            marks[top, RETURNED] = True
                        _throw(links, addresses, marks, top, outer, pc, sp, pushes)
                        new_top = outer
                else:
                    continue
        if bottom:
            links[used, PARENT], links[used, BOTTOM] = -1, used
            region = links[top, REGION]
            if region < 0 or not starts[region] < sp <= ends[region]:
                region = region_of(sp, starts, ends)
            links[used, REGION] = region
            addresses[used, RETURN], addresses[used, ENTRY], addresses[used, CFA], addresses[used, SITE] = 0, sp, 0, 0
            opened[used] = step
            marks[used, ALIVE], marks[used, RETURNED], marks[used, THROWN] = True, False, False
            new_top = used
            used += 1
        top = new_top
        if change_steps[changes - 1] == step:
            changes -= 1
        change_steps[changes], change_nodes[changes] = step, top
        changes += 1
    return used, top, change_steps[:changes], change_nodes[:changes], jump_steps[:jumps], jump_nodes[:jumps]


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _throw(links: Any, addresses: Any, marks: Any, top: Any, outer: Any, pc: Any, sp: Any, pushes: Any) -> None:
    """The activations from ``top`` up to, not including, ``outer`` are over without a return of their own."""
    index = top
    while index != outer and index >= 0:
        marks[index, ALIVE] = False
        parent = links[index, PARENT]
        if parent >= 0:
            ordinary = links[parent, PARENT] >= 0 and pc == addresses[parent, RETURN] and sp == addresses[parent, CFA]
            if ordinary and not (pushes and marks[index, MOVED]):
                marks[index, THROWN] = True
        index = parent


@njit(cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _landing(links: Any, addresses: Any, starts: Any, ends: Any, top: Any, sp: Any, pushes: Any) -> Any:
    """The activation that a landing pad belongs to: the first on the chain that is not below ``sp``."""
    equal = not pushes
    index = top
    while index >= 0:
        region = links[index, REGION]
        here = region >= 0 and starts[region] < sp <= ends[region]
        if links[index, PARENT] < 0 or (here and addresses[index, ENTRY] > sp):
            break
        if here and addresses[index, ENTRY] == sp:
            if not equal:
                break
            equal = False
        index = links[index, PARENT]
    return index
