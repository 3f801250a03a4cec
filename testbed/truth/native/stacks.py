"""Stacks are places: intervals that SP was in. Which one is SP on, and who of a chain is there?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled
from testbed.truth.native.state import (
    BEGUN,
    CFA,
    ENTRY,
    LAST_SP,
    LEFT,
    ON,
    PARENT,
    READ,
    REGION,
    RETURN,
    STACK,
    STACKS,
    TOP,
)

BELOW = u64(256)  # bytes below the last SP that belong to its stack
LEAP = u64(4096)  # a jump that takes SP further down in its mapping may go to another stack


@compiled()
def belongs(index: Any, state: Any) -> Any:
    """The activation that a row's steps are given to."""
    while index >= 0 and state.links[index, READ] >= 0:
        index = state.links[index, READ]
    return index


@compiled()
def caller(index: Any, state: Any) -> Any:
    """Who called an activation, or -1."""
    return belongs(state.links[index, PARENT], state)


@compiled()
def is_in_chain(index: Any, top: Any, state: Any) -> Any:
    """Is an activation the innermost one, or one of its callers?"""
    while top >= 0:
        if top == index:
            return True
        top = caller(top, state)
    return False


@compiled()
def slot(address: Any, cfa: Any, state: Any) -> Any:
    """Where a place (return address, CFA) is in the table, or would be."""
    table, addresses = state.table, state.addresses
    mask = u64(len(table) - 1)
    mixed = (address ^ (cfa << u64(1))) * u64(0x9E37_79B9_7F4A_7C15)
    at = (mixed ^ (mixed >> u64(32))) & mask
    while table[at] >= 0 and (addresses[table[at], RETURN] != address or addresses[table[at], CFA] != cfa):
        at = (at + u64(1)) & mask
    return at


@compiled()
def place_in(value: Any, starts: Any, ends: Any) -> Any:
    """The range, of some in order, that a value is in, or -1."""
    at = np.searchsorted(starts, value, side="right") - 1
    return at if at >= 0 and value < ends[at] else -1


@compiled()
def region_of(sp: Any, machine: Any) -> Any:
    """The mapping that a push at ``sp`` writes to, or -1."""
    return place_in(sp - u64(1), machine.starts, machine.ends)


@compiled()
def stack_at(sp: Any, state: Any, machine: Any) -> Any:
    """The stack that SP is on: the current one, one that was left, or a new one (-1).

    An SP that points nowhere is a register that a function borrowed.
    """
    spans, owners, now, last = state.spans, state.owners, state.now, state.last[LAST_SP]
    on = now[ON]
    near = sp + LEAP >= last and sp <= last + LEAP and sp <= spans[on, BEGUN]
    region = region_of(sp, machine)
    if region < 0 or (near and region == owners[on, REGION]):
        return on
    best, between = np.int64(-1), False
    for s in range(now[STACKS]):
        if s == on or owners[s, REGION] != region or owners[s, TOP] < 0:
            continue
        inside = sp + BELOW >= spans[s, LEFT] and sp <= spans[s, BEGUN]
        if inside and (best < 0 or spans[s, BEGUN] < spans[best, BEGUN]):
            best = np.int64(s)
        between = between or sp <= spans[s, BEGUN] < last
    here = region == owners[on, REGION] and sp <= spans[on, BEGUN] + BELOW
    if here and (sp >= last or not between) and (best < 0 or spans[on, BEGUN] < spans[best, BEGUN]):
        return on
    return best


@compiled()
def stand_on(sp: Any, before: Any, stack: Any, state: Any, machine: Any) -> None:
    """SP is on a stack now (-1: a new one), which may be another; ``before`` was the innermost activation."""
    now, spans, owners = state.now, state.spans, state.owners
    on = now[ON]
    if stack != on:
        spans[on, LEFT] = state.last[LAST_SP]
        if state.links[before, STACK] == on:
            owners[on, TOP] = before
        if stack < 0:
            stack = now[STACKS]
            for s in range(1, now[STACKS]):  # one that nobody is on any more
                if owners[s, TOP] < 0 and s != on:
                    stack = np.int64(s)
            if stack == now[STACKS]:
                now[STACKS] += 1
            spans[stack, BEGUN], owners[stack, REGION], owners[stack, TOP] = sp, region_of(sp, machine), -1
        now[ON] = stack
    if sp > spans[stack, BEGUN] and region_of(sp, machine) == owners[stack, REGION]:
        spans[stack, BEGUN] = sp
    state.last[LAST_SP] = sp


@compiled()
def standing_at(sp: Any, index: Any, stack: Any, pushes: Any, state: Any) -> Any:
    """The first of a chain that is not below SP on a stack, or the bottom, or -1 where all of that stack are below.

    A function that called out cannot be at its entry SP where calls push nothing: so one goes too. SPs of different
    stacks do not compare: what lies on another one goes first.
    """
    links, addresses = state.links, state.addresses
    equal = not pushes
    while index >= 0:
        here = links[index, STACK] == stack
        if caller(index, state) < 0 or (here and addresses[index, ENTRY] > sp):
            break
        if here and addresses[index, ENTRY] == sp:
            if not equal:
                break
            equal = False
        index = caller(index, state)
    return index


@compiled()
def left_at(sp: Any, index: Any, stack: Any, state: Any) -> Any:
    """Who was left where SP is: the innermost or, of several with its CFA, the outermost; else the bottom, or -1."""
    links, addresses = state.links, state.addresses
    while index >= 0 and caller(index, state) >= 0 and (links[index, STACK] != stack or addresses[index, ENTRY] < sp):
        index = caller(index, state)
    outer = caller(index, state) if index >= 0 else np.int64(-1)
    while outer >= 0 and caller(outer, state) >= 0 and addresses[outer, CFA] == addresses[index, CFA]:
        index, outer = outer, caller(outer, state)
    return index
