"""The rules of the truth, in order: which activation executes each step?

A rule looks at one transfer, to ``(pc, SP)``, while ``top`` is the innermost activation. A transfer that can mean two
things opens a *record*, a row of its own. Its steps count by the first meaning, until control reaches the place of the
second one *by hand*: the address came with SP or with the link register, or was in a register before the jump. Then
they count by the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.native.compiled import compiled
from testbed.truth.native.activations import (
    add_row,
    by_hand,
    come_to,
    end_activation,
    give,
    go_to,
    had_link,
    is_code,
    leave_for,
    note_jump,
    open_activation,
    open_record,
    return_word,
    settle_now,
    take_back,
    throw,
)
from testbed.truth.native.near import NEAR as NEAR_BYTES
from testbed.truth.native.stacks import (
    LEAP,
    belongs,
    caller,
    is_in_chain,
    left_at,
    slot,
    stack_at,
    stand_on,
    standing_at,
)
from testbed.truth.native.state import (
    ALIVE,
    ARRIVED,
    AWAY,
    BACK,
    BEGUN,
    BOTTOM,
    CALL,
    CALLS,
    CFA,
    CHANGES,
    DROPPED,
    ELSEWHERE,
    ENDED,
    ENTRY,
    GIVEN,
    GOES_ON,
    HANDLER,
    INNERMOST,
    KEPT,
    KEPT_AT,
    KIND,
    LANDED,
    LAST_LINK,
    LAST_SP,
    LATE,
    LOST,
    MAYBE,
    NEXT,
    ON,
    OVER,
    PARENT,
    PROMISE,
    READ,
    RECORD,
    RESUMED,
    RETURN,
    RETURNED,
    SECOND,
    SIGNAL,
    STACK,
    TAKEN,
    TARGET,
    TOP,
    TRANSFER,
    UNDONE,
    USED,
    WAY,
)
from testbed.truth.native.switches import SPARE, begin_stack, is_used_again, moved_stack, take_over

NEAR = u64(NEAR_BYTES)
SURELY = 2


@compiled()
def follow(events: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any) -> Any:
    """Go on through the events; false where the columns have no more room."""
    now = state.now
    while now[NEXT] < len(events.row):
        if now[USED] + SPARE > len(state.links):
            return False
        e = now[NEXT]
        what = events.what[e]
        now[ARRIVED] |= what & TAKEN
        if what == TAKEN:
            now[NEXT] += 1
            continue
        if state.marks[now[INNERMOST], DROPPED]:
            _drop(events, e, state, machine, memory, journal)
        top = now[INNERMOST]
        if what & HANDLER:
            _interrupt(events, e, state, log, machine, memory, journal)
        elif what & CALLS:
            _call(events, e, state, log, machine)
        elif what & (TRANSFER | RESUMED) and not _transfer(events, e, state, log, machine, memory, journal):
            return False
        stand_on(events.sp[e], top, stack_at(events.sp[e], state, machine), state, machine)
        if state.marks[now[INNERMOST], ELSEWHERE] and events.sp[e] > state.spans[now[ON], BEGUN]:
            state.spans[now[ON], BEGUN] = events.sp[e]
        state.last[LAST_SP] = events.sp[e]
        _keep(events, e, state, log, machine)
        if what != 0:  # else only the link register was stored
            now[ARRIVED] = 0
        now[NEXT] += 1
    return True


@compiled()
def _keep(events: Any, e: Any, state: Any, log: Any, machine: Any) -> None:
    """The link register is noted, and whether this step stores the return address.

    Who has come back has no use for the address that it came back to: what stores that may be a function right behind
    the call, to which the callee jumped.
    """
    if machine.link < 0:
        return
    link, top = machine.registers[events.row[e], machine.link] & machine.mask, state.now[INNERMOST]
    if events.kept_at[e] != 0 and link == state.addresses[top, RETURN] and not state.marks[top, KEPT]:
        state.marks[top, KEPT], state.addresses[top, KEPT_AT] = True, events.kept_at[e]
    over = state.now[OVER]
    if events.kept_at[e] != 0 and over >= 0 and link == state.addresses[over, RETURN]:
        record = add_row(ENDED, np.int64(-1), events.row[e], events.sp[e], state, machine)
        state.links[record, READ], state.links[record, SECOND], state.links[top, RECORD] = top, over, record
        give(log.change_rows[state.now[CHANGES] - 1], record, state, log)
    state.last[LAST_LINK] = link


@compiled()
def _interrupt(events: Any, e: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any) -> None:
    """A signal opens two: its frame, which the handler returns to, and the handler."""
    row, sp = events.row[e], events.sp[e]
    after = sp + machine.entry_cfa
    open_activation(SIGNAL, state.now[GIVEN], row, after, events.site[e], events.before[e], state, log, machine)
    returns = return_word(row, sp, machine, memory, journal)
    open_activation(CALL, state.now[GIVEN], row, sp, returns, after, state, log, machine)


@compiled()
def _call(events: Any, e: Any, state: Any, log: Any, machine: Any) -> None:
    """Rule 1: the effect of a call. Without a word of its own on the stack it may turn out to be a jump. One to the
    place of the innermost activation is a return, too: undecided."""
    sp, what, top = events.sp[e], events.what[e], state.now[INNERMOST]
    back = events.pc[e] == state.addresses[top, RETURN] and events.before[e] == state.addresses[top, CFA]
    if back and caller(top, state) >= 0 and state.links[top, KIND] in (CALL, MAYBE):
        outer = caller(top, state)
        end_activation(events, e, top, state, log, machine)
        record = open_record(ENDED, events, e, outer, top, state, log, machine)
        state.marks[record, KEPT] = True
        return
    sure = machine.link < 0 and what & TRANSFER and not what & UNDONE and events.before[e] != sp
    cfa = sp + machine.entry_cfa
    before = state.table[slot(events.fall[e], cfa, state)]
    known = before >= 0 and (state.marks[before, RETURNED] or state.links[before, KIND] == CALL)
    kind = CALL if known or (sure and events.pc[e] != events.fall[e]) else MAYBE
    new = open_activation(kind, state.now[GIVEN], events.row[e], sp, events.fall[e], cfa, state, log, machine)
    state.addresses[new, TARGET], state.marks[new, DROPPED] = events.pc[e], what & UNDONE


@compiled()
def _drop(events: Any, e: Any, state: Any, machine: Any, memory: Any, journal: Any) -> None:
    """A call whose word came off the stack at once was none, unless control is at its address now, or that lies on the
    stack again: then the function moved with it."""
    index = state.now[INNERMOST]
    before, cfa = events.before[e], state.addresses[index, CFA]
    here = events.sp[e] == cfa or before == cfa or before <= state.addresses[index, ENTRY]
    here = here and events.pc[e] == state.addresses[index, RETURN]
    if not here:
        outer = caller(index, state)
        place, end = min(before, events.sp[e]), state.addresses[outer, ENTRY]
        while state.addresses[index, TARGET] != state.addresses[index, RETURN] and place < end <= events.sp[e] + LEAP:
            if return_word(events.row[e], place, machine, memory, journal) == state.addresses[index, RETURN]:
                state.marks[index, DROPPED] = False
                return
            place += machine.entry_cfa
        state.links[index, SECOND], state.links[index, KIND] = index, MAYBE
        state.links[index, READ] = state.links[index, PARENT]
        state.links[outer, RECORD], state.marks[index, ALIVE] = index, False
        state.now[INNERMOST] = outer


@compiled()
def _transfer(events: Any, e: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any) -> Any:
    """Rules 2 to 9, for a jump; false where there is no room for what it does."""
    links, addresses, marks, now = state.links, state.addresses, state.marks, state.now
    row, pc, sp, top = events.row[e], events.pc[e], events.sp[e], now[INNERMOST]
    if now[ARRIVED] and by_hand(events, e, pc, pc, machine):
        take_over(events, e, top, state, log, machine)
        return True
    # Rule 2: a return.
    inner = caller(top, state) >= 0
    if inner and pc == addresses[top, RETURN] and sp == addresses[top, CFA]:
        end_activation(events, e, top, state, log, machine)
        return True
    if _second_reading(events, e, top, state, log, machine):
        return True
    # Rule 3: a place that is known.
    came = state.table[slot(pc, sp, state)]
    target = caller(came, state) if came >= 0 else np.int64(-1)
    lives = target >= 0 and marks[target, ALIVE]
    if lives and now[WAY] >= 0 and _was_on_the_way(events, e, state, machine):
        take_back(now[WAY], row, state, machine)
        come_to(events, e, came, target, state, log, machine)
        return True
    if came >= 0 and target >= 0 and not marks[came, ALIVE]:
        lives = _lives_again(events, e, came if lives else target, top, state, machine) or lives
    if lives and pc == addresses[top, RETURN] and target == caller(top, state):
        end_activation(events, e, top, state, log, machine)
        return True
    if machine.link >= 0 and lives and target != top and not by_hand(events, e, pc, pc, machine):
        lives = False
    if lives and target != top:
        _had_gone_on(events, e, came, target, state, machine)
        come_to(events, e, came, target, state, log, machine)
        return True
    if lives:
        return True
    if events.what[e] & RESUMED and links[top, KIND] == SIGNAL:
        top_signal = top
        end_activation(events, e, top, state, log, machine)
        top = now[INNERMOST]
        returns = return_word(row, sp, machine, memory, journal)
        if sp < addresses[top_signal, CFA]:
            if returns == addresses[top_signal, RETURN]:
                cfa = sp + machine.entry_cfa
                open_activation(CALL, now[GIVEN], row, sp, returns, cfa, state, log, machine)
            else:
                _promised(events, e, top, sp, returns, state, log, machine)
        return True
    # Rule 4: the call's own word, replaced.
    own = events.before[e] == addresses[top, ENTRY] and sp == addresses[top, CFA]
    if own and machine.link < 0 and inner and links[top, KIND] != SIGNAL:
        outer = caller(top, state)
        end_activation(events, e, top, state, log, machine)
        record = open_record(ENDED, events, e, outer, top, state, log, machine)
        marks[record, KEPT] = came >= 0  # somebody who is gone came back there
        return _goes_away(events, e, outer, came, state, log, machine, memory, journal) < 2
    went = _goes_away(events, e, top, came, state, log, machine, memory, journal)
    if went:
        return went < 2
    # Rule 8: a return a little behind the return address, or with another SP.
    if inner and (pc == addresses[top, RETURN] or sp == addresses[top, CFA]) and links[top, KIND] != SIGNAL:
        back = _leads_back(events, e, top, state, machine)
        outer = caller(top, state)
        if back == SURELY:
            end_activation(events, e, top, state, log, machine)
            open_record(ENDED, events, e, outer, top, state, log, machine)
        elif back:
            record = open_record(BACK, events, e, top, outer, state, log, machine)
            addresses[record, TARGET] = pc
        if back:
            return True
    _promise(events, e, top, state, log, machine, memory, journal)
    return True


@compiled()
def _was_on_the_way(events: Any, e: Any, state: Any, machine: Any) -> Any:
    """Was the last jump to another stack, or up, on the way to where control is now?"""
    way, pc = state.addresses[state.now[WAY], ENTRY], events.pc[e]
    return (way == events.sp[e] or way == events.before[e]) and by_hand(events, e, pc, pc, machine)


@compiled()
def _second_reading(events: Any, e: Any, top: Any, state: Any, log: Any, machine: Any) -> Any:
    """Does control reach, by hand, the return address of who was thought gone by a record? Then it had gone on. Who
    left for a stack that nobody called was at work there if SP is where it returns to."""
    links, addresses = state.links, state.addresses
    second = links[top, SECOND]
    if links[top, KIND] == BOTTOM and second >= 0 and events.sp[e] == addresses[second, CFA]:
        state.marks[top, LATE] = True
        take_back(top, events.row[e], state, machine)
        end_activation(events, e, second, state, log, machine)
        return True
    record = links[top, RECORD]
    if record < 0 or belongs(record, state) != top or links[record, KIND] == AWAY or links[record, KIND] == BACK:
        return False
    second = links[record, SECOND]
    pc, sp, returns, cfa = events.pc[e], events.sp[e], addresses[second, RETURN], addresses[second, CFA]
    same = sp == cfa
    if pc != returns and not (same and returns < pc <= returns + NEAR and links[record, KIND] != ENDED):
        return False
    hand, dropped = by_hand(events, e, pc, pc, machine), record == second and same and pc == returns
    if not (hand or dropped) or (links[record, KIND] == ENDED and not same):
        return False
    state.marks[second, LATE] |= not hand
    take_back(record, events.row[e], state, machine)
    end_activation(events, e, second, state, log, machine)
    return True


@compiled()
def _had_gone_on(events: Any, e: Any, came: Any, target: Any, state: Any, machine: Any) -> None:
    """Control comes, by hand, to where somebody comes back whose return address had been replaced."""
    links, record = state.links, state.links[target, RECORD]
    ended = record >= 0 and links[record, KIND] == ENDED and links[record, SECOND] == came
    if ended and links[record, READ] == target and by_hand(events, e, events.pc[e], events.pc[e], machine):
        settle_now(record, events.row[e], state, machine)
        links[record, READ], links[record, KIND], state.marks[came, ALIVE] = came, AWAY, True
        state.addresses[came, GOES_ON] = 0


@compiled()
def _lives_again(events: Any, e: Any, dead: Any, top: Any, state: Any, machine: Any) -> Any:
    """Control comes, by hand, to where a call of somebody comes back who is gone without having returned, and nobody
    has that place. By a landing: that was a switch to a stack inside a frame. Else nothing tells whose steps those
    were."""
    links, addresses, marks = state.links, state.addresses, state.marks
    record = links[dead, LOST]
    if marks[dead, RETURNED] or not by_hand(events, e, events.pc[e], events.pc[e], machine):
        return False
    if record < 0 and stack_at(events.sp[e], state, machine) != state.now[ON]:
        return False  # whoever was left there goes on
    if caller(top, state) >= 0 and addresses[top, CFA] == events.sp[e] and addresses[top, ENTRY] == events.sp[e]:
        return False  # who is at work was called right there, and jumps on
    index = top
    while index >= 0 and not is_in_chain(index, dead, state):
        if addresses[index, ENTRY] == addresses[dead, ENTRY]:
            return False
        index = caller(index, state)
    index = dead
    while record < 0 and index >= 0 and not marks[index, ALIVE]:
        marks[index, ALIVE], marks[index, LATE] = True, True
        index = caller(index, state)
    if record < 0 or links[record, KIND] != LANDED:
        return record < 0
    settle_now(record, events.row[e], state, machine)
    index, first = links[record, SECOND], links[record, READ]
    while index >= 0 and index != first:
        marks[index, ALIVE] = True
        index = caller(index, state)
    links[record, READ], links[record, KIND], links[first, RECORD] = -1, BOTTOM, -1
    state.now[INNERMOST] = belongs(state.now[GIVEN], state)
    return True


@compiled()
def _leads_back(events: Any, e: Any, top: Any, state: Any, machine: Any) -> Any:
    """A jump by hand: to the return address with another SP, or with the right SP to an address made of it (SURELY if
    that came off the stack, or was in the link register)."""
    pc, sp, site = events.pc[e], events.sp[e], events.site[e]
    returns, cfa, entry = state.addresses[top, RETURN], state.addresses[top, CFA], state.addresses[top, TARGET]
    if pc == returns:
        return SURELY if sp != cfa and by_hand(events, e, pc, pc, machine) else 0
    if sp > events.before[e] or had_link(events, e, pc, machine):
        return SURELY
    end = returns + NEAR
    if not had_link(events, e, returns, machine) or not returns < pc <= end:
        return 0
    computed = machine.jump_size != u64(0) and events.fall[e] - site == machine.jump_size
    computed = computed and not (returns <= site <= end) and not (returns <= entry <= end)
    return 1 if computed or by_hand(events, e, pc, pc, machine) else 0


@compiled()
def _goes_away(
    events: Any, e: Any, top: Any, came: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any
) -> Any:
    """Rules 5 to 7: control goes to another stack, or up. 0: it does not; 1: it did; 2: there is no room for it."""
    sp, pc, now, links = events.sp[e], events.pc[e], state.now, state.links
    if caller(top, state) < 0:
        return 0
    on = now[ON]
    stack = stack_at(sp, state, machine)
    up = sp > state.addresses[top, ENTRY]
    borrowed = stack == on and links[top, STACK] != on and by_hand(events, e, pc, pc, machine)
    if stack == on and not borrowed and not up and sp + LEAP >= state.last[LAST_SP]:
        return 0
    moved = moved_stack(events, e, top, state, log, machine, memory, journal)
    if moved:
        return moved
    if stack == on and not borrowed and not up:
        returns = return_word(events.row[e], sp, machine, memory, journal)
        new = machine.link >= 0 and returns != state.last[LAST_LINK]
        if returns == pc or not is_code(returns, machine) or not (new or by_hand(events, e, pc, pc, machine)):
            return 0
        stack = np.int64(-1)
    if stack == on and not borrowed:
        return _goes_up(events, e, top, came, state, log, machine, memory, journal)
    left = belongs(state.owners[stack, TOP], state) if stack >= 0 else np.int64(-1)
    if left < 0:
        begin_stack(events, e, top, stack, state, log, machine, memory, journal)
        return 1
    if not by_hand(events, e, pc, pc, machine):
        return 0
    if is_in_chain(left, top, state):
        if left == top:
            return 0
        return _goes_up(events, e, top, came, state, log, machine, memory, journal)
    found = left_at(sp, left, stack, state)
    if found < 0 or caller(found, state) < 0 or is_used_again(events, e, found, state, machine, memory, journal):
        begin_stack(events, e, top, stack, state, log, machine, memory, journal)
    else:
        leave_for(events, e, found, state, log, machine)
    return 1


@compiled()
def _goes_up(
    events: Any, e: Any, top: Any, came: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any
) -> Any:
    """Rule 7: a function that returns again, having returned once; one that took its arguments off; a landing pad, or a
    function that moved up. Its return address went along if it lies at SP now: then it goes on."""
    addresses, marks, sp = state.addresses, state.marks, events.sp[e]
    again = caller(came, state) if came >= 0 else np.int64(-1)
    outer = caller(again, state) if again >= 0 else np.int64(-1)
    if outer >= 0 and marks[outer, ALIVE] and marks[came, RETURNED]:
        leave_for(events, e, outer, state, log, machine)
        marks[again, ALIVE] = True
        go_to(events.row[e], again, state, log)
        return 1
    if events.pc[e] == addresses[top, RETURN] and _was_a_target(top, sp, state, machine):
        settle_now(top, events.row[e], state, machine)
        state.links[top, READ], marks[top, ALIVE] = state.links[top, PARENT], False
        go_to(events.row[e], caller(top, state), state, log)
        return 1
    if events.pc[e] == addresses[top, RETURN]:
        end_activation(events, e, top, state, log, machine)
        return 1
    if machine.link < 0 and return_word(events.row[e], sp, machine, memory, journal) == addresses[top, RETURN]:
        return 0
    stack = stack_at(sp, state, machine)
    landed = standing_at(sp, top, stack, machine.link < 0, state)
    record = state.now[USED]
    note_jump(events.row[e], state, log, record)
    throw(events, e, top, landed, record, state, machine)
    open_record(LANDED, events, e, landed, top, state, log, machine)
    state.now[WAY] = record
    return 1


@compiled()
def _was_a_target(top: Any, sp: Any, state: Any, machine: Any) -> Any:
    """Is what seemed a promise where its caller, whose frame is gone, jumps to? A pointer to a function was a local."""
    outer = caller(top, state)
    promised = machine.link < 0 and state.links[top, KIND] == PROMISE and caller(outer, state) >= 0
    return promised and state.links[outer, STACK] == state.links[top, STACK] and sp >= state.addresses[outer, ENTRY]


@compiled()
def _promise(events: Any, e: Any, top: Any, state: Any, log: Any, machine: Any, memory: Any, journal: Any) -> None:
    """Rule 9: a jump with an address at the return place that was put there since the last transfer, or lies below one
    that came off the stack; several may lie there."""
    row, sp = events.row[e], events.sp[e]
    if machine.link >= 0:
        returns = machine.registers[row, machine.link] & machine.mask
        if returns != state.last[LAST_LINK]:
            _promised(events, e, top, sp, returns, state, log, machine)
        return
    if events.ahead[e] == 0 and sp <= events.before[e]:
        return
    word, most, dropped = machine.entry_cfa, u64(0), state.links[top, RECORD]
    own = dropped >= 0 and state.links[dropped, SECOND] == dropped and sp + word == state.addresses[dropped, CFA]
    if own and belongs(dropped, state) == top:  # its word is back in its place
        give(row, take_back(dropped, row, state, machine), state, log)
        return
    while sp + most * word + word != state.addresses[top, CFA]:
        if not is_code(return_word(row, sp + most * word, machine, memory, journal), machine):
            break
        most += u64(1)
    while most > u64(0):
        most -= u64(1)
        place = sp + most * word
        returns = return_word(row, place, machine, memory, journal)
        _promised(events, e, state.now[INNERMOST], place, returns, state, log, machine)


@compiled()
def _promised(events: Any, e: Any, top: Any, sp: Any, returns: Any, state: Any, log: Any, machine: Any) -> None:
    """A jump hands over an address, if that is one of code, and another one than its own."""
    cfa = sp + machine.entry_cfa
    if returns == state.addresses[top, RETURN] or (machine.link < 0 and cfa == state.addresses[top, CFA]):
        return
    before = state.table[slot(returns, cfa, state)]
    if before >= 0 and (state.marks[before, ALIVE] or (machine.link >= 0 and state.links[before, KIND] != PROMISE)):
        return
    if is_code(returns, machine) and returns != events.pc[e]:
        open_activation(PROMISE, state.now[GIVEN], events.row[e], sp, returns, cfa, state, log, machine)
