"""Rules 5 and 6: a stack is copied, begins, is used again, or is one that another thread left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled
from testbed.trace.flat.native import load, move_to
from testbed.truth.native.activations import (
    add_row,
    by_hand,
    copy_row,
    give,
    is_code,
    note_jump,
    open_activation,
    return_word,
)
from testbed.truth.native.stacks import belongs, caller, slot, stack_at, stand_on
from testbed.truth.native.state import (
    ALIVE,
    BEGUN,
    BOTTOM,
    CALL,
    CFA,
    ELSEWHERE,
    ENTRY,
    KEPT_AT,
    LAST_LINK,
    MADE_ROWS,
    ON,
    PARENT,
    RECORD,
    RETURN,
    RETURNED,
    SECOND,
    SERIAL,
    STACK,
    STACKS,
    TARGET,
    TOP,
    USED,
    WAY,
)

SPARE = 8  # rows that one event may add


@compiled()
def moved_stack(events: Any, e: Any, top: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any) -> Any:
    """Rule 5: a stack that was copied goes on, with new CFAs: control comes to the return address of somebody who
    lives, with another SP, and every return address further out lies as far away. 2: there is no room."""
    links, addresses, now = state.links, state.addresses, state.now
    pc, sp, row = events.pc[e], events.sp[e], events.row[e]
    found = np.int64(-1)
    index = top
    while index >= 0 and found < 0:
        if addresses[index, RETURN] == pc and addresses[index, CFA] != sp and caller(index, state) >= 0:
            found = index
        index = caller(index, state)
    if found < 0:
        for s in range(now[STACKS]):
            index = belongs(state.owners[s, TOP], state)
            if s != now[ON] and index >= 0 and addresses[index, RETURN] == pc and addresses[index, CFA] != sp:
                found = index
    if found < 0:
        return 0
    target, delta = caller(found, state), sp - addresses[found, CFA]
    if target < 0:
        return 0
    move_to(row, journal, memory)
    depth, seen = 0, 0
    index, stack = target, links[target, STACK]
    while caller(index, state) >= 0 and links[index, STACK] == stack:
        place = addresses[index, KEPT_AT] if machine.link >= 0 else addresses[index, CFA] - u64(machine.word)
        if place != 0:
            value, mapped = load(place + delta, machine.word, memory)
            if not mapped or value & machine.mask != addresses[index, RETURN]:
                return 0
            seen += 1
        depth += 1
        index = caller(index, state)
    if seen == 0:
        return 0
    if now[USED] + depth + SPARE > len(links):
        return 2
    first, outer = now[USED], index
    begun = state.spans[stack, BEGUN] + delta
    stand_on(sp, top, stack_at(sp, state, machine), state, machine)
    now[USED] += depth
    index = target
    for i in range(depth - 1, -1, -1):
        new = first + i
        copy_row(new, index, state)
        links[new, PARENT] = first + i - 1 if i > 0 else outer
        links[new, STACK], links[new, RECORD], links[new, SERIAL] = now[ON], -1, now[MADE_ROWS] + i
        links[new, SECOND] = index
        addresses[new, CFA] += delta
        addresses[new, ENTRY] += delta
        if addresses[new, KEPT_AT] != 0:
            addresses[new, KEPT_AT] += delta
        state.table[slot(addresses[new, RETURN], addresses[new, CFA], state)] = new
        state.marks[index, ALIVE] = False
        index = caller(index, state)
    now[MADE_ROWS] += depth
    state.spans[now[ON], BEGUN], state.owners[stack, TOP] = begun, -1
    state.marks[found, ALIVE], state.marks[found, RETURNED] = False, True
    note_jump(row, state, log, np.int64(-1))
    give(row, first + depth - 1, state, log)
    return 1


@compiled()
def begin_stack(
    events: Any, e: Any, top: Any, stack: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any
) -> None:
    """A fresh stack: what begins there has the caller whose address its maker, and no call, put at the return place."""
    row, sp = events.row[e], events.sp[e]
    note_jump(row, state, log, state.now[USED])
    stand_on(sp, top, stack, state, machine)
    bottom = add_row(BOTTOM, np.int64(-1), row, sp, state, machine)
    state.links[bottom, SECOND], state.links[bottom, STACK] = top, state.now[ON]
    returns, pc, cfa = return_word(row, sp, machine, memory, journal), events.pc[e], sp + machine.entry_cfa
    called = state.table[slot(returns, cfa, state)] if machine.link < 0 else top
    by_call = called >= 0 and state.addresses[called, RETURN] == returns and state.addresses[called, TARGET] != 0
    outer = top
    while outer >= 0:  # where a call went to, a function begins: nobody returns there
        by_call = by_call or state.addresses[outer, TARGET] == returns
        outer = caller(outer, state)
    new = machine.link >= 0 and returns != state.last[LAST_LINK]
    new = new or events.ahead[e] != 0 or by_hand(events, e, pc, pc, machine)
    if is_code(returns, machine) and returns != pc and new and not by_call:
        open_activation(CALL, bottom, row, sp, returns, cfa, state, log, machine)
        state.links[bottom, SECOND] = -1
        return
    give(row, bottom, state, log)
    state.now[WAY] = bottom


@compiled()
def is_used_again(events: Any, e: Any, found: Any, state: Any, machine: Any, memory: Any, journal: Any) -> Any:
    """Is SP where somebody who was left was entered, with another return address there? Then a maker put that there,
    and nobody goes on who was left. The place where control now goes on is no such address: who was left returns by
    the link register."""
    returns = return_word(events.row[e], events.sp[e], machine, memory, journal)
    here = events.sp[e] == state.addresses[found, ENTRY] and returns != state.addresses[found, RETURN]
    return here and is_code(returns, machine) and returns != events.pc[e] and returns != state.last[LAST_LINK]


@compiled()
def take_over(events: Any, e: Any, top: Any, state: Any, log: Any, machine: Any) -> None:
    """A stack that another thread left goes on. Who calls there is seen in that thread: undecided here."""
    row, sp, on = events.row[e], events.sp[e], state.now[ON]
    note_jump(row, state, log, np.int64(-1))
    stack = stack_at(sp, state, machine)
    stack = stack if stack != on or state.links[top, STACK] != on else np.int64(-1)
    index = state.owners[stack, TOP] if stack >= 0 else np.int64(-1)
    while index >= 0 and state.links[index, STACK] == stack:
        state.marks[index, ALIVE], state.marks[index, RETURNED] = False, True  # it went on in another thread
        index = state.links[index, PARENT]
    stand_on(sp, top, stack, state, machine)
    bottom = add_row(BOTTOM, np.int64(-1), row, sp, state, machine)
    state.links[bottom, STACK], state.marks[bottom, ELSEWHERE] = state.now[ON], True
    give(row, bottom, state, log)
