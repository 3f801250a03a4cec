"""Activations and records as rows of the state: they begin, end, and are left."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled
from testbed.trace.flat.native import load, move_to
from testbed.truth.native.stacks import belongs, caller, is_in_chain, place_in, slot, stack_at, stand_on
from testbed.truth.native.state import (
    ADDRESSES,
    ALIVE,
    AWAY,
    BACK,
    CFA,
    CHANGES,
    ENDED,
    ENTRY,
    GIVEN,
    GOES_ON,
    INNERMOST,
    JUMPS,
    KEPT,
    KIND,
    LATE,
    LINKS,
    LOST,
    MADE_ROWS,
    MARKS,
    MAYBE,
    ON,
    OPENED,
    OVER,
    PARENT,
    PROMISE,
    READ,
    RECORD,
    RETURN,
    RETURNED,
    SECOND,
    SERIAL,
    STACK,
    TARGET,
    USED,
    WAY,
)


@compiled()
def add_row(kind: Any, parent: Any, row: Any, sp: Any, state: Any, machine: Any) -> Any:
    """A new row."""
    new = state.now[USED]
    state.now[USED] += 1
    state.links[new, :] = -1
    state.links[new, KIND], state.links[new, PARENT], state.links[new, OPENED] = kind, parent, machine.first + row
    state.links[new, SERIAL] = state.now[MADE_ROWS]
    state.now[MADE_ROWS] += 1
    state.addresses[new, :] = 0
    state.addresses[new, ENTRY] = sp
    state.marks[new, :] = False
    state.marks[new, ALIVE] = True
    return new


@compiled()
def give(row: Any, node: Any, state: Any, log: Any) -> None:
    """From a row on steps are given to ``node``."""
    now = state.now
    now[GIVEN], now[INNERMOST], now[OVER], now[WAY] = node, belongs(node, state), -1, -1
    if now[CHANGES] > 0 and log.change_rows[now[CHANGES] - 1] == row:
        now[CHANGES] -= 1
    log.change_rows[now[CHANGES]], log.change_nodes[now[CHANGES]] = row, node
    now[CHANGES] += 1


@compiled()
def go_to(row: Any, index: Any, state: Any, log: Any) -> None:
    """An activation goes on; in doubt, if a record says so."""
    record = state.links[index, RECORD]
    give(row, record if record >= 0 and belongs(record, state) == index else index, state, log)


@compiled()
def open_activation(
    kind: Any, parent: Any, row: Any, sp: Any, returns: Any, cfa: Any, state: Any, log: Any, machine: Any
) -> Any:
    """A new activation, which is the innermost one now."""
    new = add_row(kind, parent, row, sp, state, machine)
    state.addresses[new, RETURN], state.addresses[new, CFA] = returns, cfa
    state.table[slot(returns, cfa, state)] = new
    stack = stack_at(sp, state, machine)
    if stack != state.now[ON]:
        stand_on(sp, state.now[INNERMOST], stack, state, machine)
    state.links[new, STACK] = state.now[ON]
    give(row, new, state, log)
    return new


@compiled()
def copy_row(new: Any, index: Any, state: Any) -> None:
    """A row is the same as another one."""
    for column in range(LINKS):
        state.links[new, column] = state.links[index, column]
    for column in range(ADDRESSES):
        state.addresses[new, column] = state.addresses[index, column]
    for column in range(MARKS):
        state.marks[new, column] = state.marks[index, column]


@compiled()
def open_record(kind: Any, events: Any, e: Any, first: Any, second: Any, state: Any, log: Any, machine: Any) -> Any:
    """Open a record: the steps belong to ``first``, or to ``second``."""
    new = add_row(kind, np.int64(-1), events.row[e], events.sp[e], state, machine)
    state.links[new, READ], state.links[new, SECOND], state.links[first, RECORD] = first, second, new
    give(events.row[e], new, state, log)
    return new


@compiled()
def settle_now(index: Any, row: Any, state: Any, machine: Any) -> None:
    """The second reading of a row is found. Where it was open for too long, its steps stay undecided."""
    if machine.first + row - state.links[index, OPENED] > machine.bound:
        state.marks[index, LATE] = True


@compiled()
def take_back(record: Any, row: Any, state: Any, machine: Any) -> Any:
    """A record is settled: its second reading holds."""
    links, now = state.links, state.now
    settle_now(record, row, state, machine)
    second = links[record, SECOND]
    state.addresses[second, GOES_ON] = 0
    if record == second:
        links[record, READ] = -1
    else:
        links[record, READ], links[record, KIND] = second, AWAY
    index = second
    while index >= 0 and not state.marks[index, ALIVE]:
        state.marks[index, ALIVE] = True
        index = caller(index, state)
    now[INNERMOST], now[GIVEN] = second, second
    return second


@compiled()
def end_activation(events: Any, e: Any, index: Any, state: Any, log: Any, machine: Any) -> None:
    """An activation is over: control is back in its caller."""
    _over(index, events.row[e], state, machine)
    if events.pc[e] != state.addresses[index, RETURN]:
        state.addresses[index, GOES_ON] = events.pc[e]
    go_to(events.row[e], caller(index, state), state, log)
    state.now[OVER] = index


@compiled()
def _over(index: Any, row: Any, state: Any, machine: Any) -> None:
    """Control came to where somebody comes back. If that was a promise, it is kept."""
    if state.links[index, KIND] == PROMISE:
        settle_now(index, row, state, machine)
    state.marks[index, ALIVE], state.marks[index, RETURNED] = False, True


@compiled()
def throw(events: Any, e: Any, top: Any, outer: Any, record: Any, state: Any, machine: Any) -> Any:
    """The activations from ``top`` up to, not including, ``outer`` are over without a return of their own.

    If ``outer`` itself returns now, those in it that may be none were jumps: true where all were.
    """
    links, addresses, marks = state.links, state.addresses, state.marks
    pc, sp = events.pc[e], events.sp[e]
    ordinary = pc == addresses[outer, RETURN] and sp == addresses[outer, CFA] and record < 0
    returns = machine.link < 0 or sp > events.before[e] or had_link(events, e, pc, machine)
    index, first = top, top
    while index != outer and index >= 0:
        marks[index, ALIVE], links[index, LOST] = False, record
        above = caller(index, state)
        at_next = addresses[index, TARGET] == addresses[index, RETURN]
        none = (links[index, KIND] == MAYBE or links[index, KIND] == PROMISE) and (returns or at_next)
        doubt = links[index, RECORD]
        back = doubt >= 0 and links[doubt, KIND] == BACK and links[doubt, READ] == index
        if not back and (not none or marks[index, KEPT] or marks[index, RETURNED]):
            first = above
        index = above
    index = first
    while ordinary and index != outer:
        above, doubt = caller(index, state), links[index, RECORD]
        if doubt >= 0 and links[doubt, KIND] == BACK and links[doubt, READ] == index:
            settle_now(doubt, events.row[e], state, machine)
            links[doubt, READ], links[doubt, KIND] = links[index, PARENT], ENDED
            addresses[index, GOES_ON], marks[index, RETURNED] = addresses[doubt, TARGET], True
        else:
            settle_now(index, events.row[e], state, machine)
            links[index, READ] = links[index, PARENT]
        index = above
    return ordinary and first == top


@compiled()
def leave_for(events: Any, e: Any, target: Any, state: Any, log: Any, machine: Any) -> None:
    """Drop to an activation of this chain, or go to another stack and leave this one as it is."""
    top = state.now[INNERMOST]
    note_jump(events.row[e], state, log, np.int64(-1))
    if is_in_chain(target, top, state):
        throw(events, e, top, target, np.int64(-1), state, machine)
    go_to(events.row[e], target, state, log)


@compiled()
def come_to(events: Any, e: Any, came: Any, target: Any, state: Any, log: Any, machine: Any) -> None:
    """Control is where somebody comes back to ``target``, who lives: a return over others, ``longjmp``, a switch."""
    marks, top = state.marks, state.now[INNERMOST]
    over = marks[came, ALIVE] and is_in_chain(came, top, state)
    if over and throw(events, e, top, came, np.int64(-1), state, machine):
        end_activation(events, e, came, state, log, machine)
        return
    leave_for(events, e, target, state, log, machine)
    _over(came, events.row[e], state, machine)


@compiled()
def note_jump(row: Any, state: Any, log: Any, record: Any) -> None:
    """Log a jump: its step, the value that it went to, and the record that was in force."""
    now = state.now
    log.jumps[now[JUMPS], 0], log.jumps[now[JUMPS], 1], log.jumps[now[JUMPS], 2] = row, now[GIVEN], record
    now[JUMPS] += 1


@compiled()
def by_hand(events: Any, e: Any, low: Any, high: Any, machine: Any) -> Any:
    """Did the address come with SP, or the link register, or was one from ``low`` to ``high`` in a register before?"""
    row, link = events.row[e], machine.link
    if events.sp[e] != events.before[e]:
        return True
    if link >= 0 and machine.registers[row, link] != machine.registers[row - 1, link]:
        return True
    for i in range(len(machine.columns)):
        if low <= machine.registers[row - 1, machine.columns[i]] & machine.mask <= high:
            return True
    return False


@compiled()
def had_link(events: Any, e: Any, address: Any, machine: Any) -> Any:
    """Did the link register hold an address before the jump?"""
    return machine.link >= 0 and machine.registers[events.row[e] - 1, machine.link] & machine.mask == address


@compiled()
def return_word(row: Any, sp: Any, machine: Any, memory: Any, journal: Any) -> Any:
    """The address at the return place: in the link register, or in the word at SP."""
    if machine.link >= 0:
        return machine.registers[row, machine.link] & machine.mask
    move_to(row, journal, memory)
    return load(sp, machine.word, memory)[0]


@compiled()
def is_code(address: Any, machine: Any) -> Any:
    """True for an address in the code of some image."""
    return place_in(address, machine.code_starts, machine.code_ends) >= 0
