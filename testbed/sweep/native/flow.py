"""Control flow through the code of one entry: states along instructions, over edges, and at their meetings."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.a32 import decode_a32
from testbed.sweep.native.arm64 import decode_arm64
from testbed.sweep.native.codes import (
    A32,
    ARM64,
    AWAY,
    BRANCH,
    CALL,
    CALL_AWAY,
    CFA_BASE,
    EQUAL,
    JUMP,
    KIND,
    MAYBE,
    NEXT,
    NOTHING,
    NUMBER,
    OTHER,
    PERHAPS,
    PLACE,
    RETURN,
    THUMB,
    X86_64,
    callers,
    low,
    place,
)
from testbed.sweep.native.conform import (
    begins_function,
    believe,
    clobber,
    conform,
    enter,
    is_by_changed,
    note_exit,
    quietly,
)
from testbed.sweep.native.entries import END, FIRST_ROW, LAST_ROW, READ, START, STATE
from testbed.sweep.native.room import (
    ANOTHERS,
    AT_JUMPS,
    AT_LEAF_JUMPS,
    BY_FUNCTION,
    CALLED,
    CFA_FOUND,
    CHANGED_AT_EXIT,
    CONTRADICTED,
    EARLIEST,
    ENDS_ELSEWHERE,
    EXITS,
    FINE,
    FIRST_OPERATION,
    FLOW,
    HERE,
    IN_TURN,
    IS_CALL,
    IS_WIDE,
    JUMP_STATE,
    JUMPED,
    LANDED,
    LEADER,
    LEAF_STATE,
    LEAVES_BADLY,
    LEFT,
    LENGTH,
    LOADED,
    MOST_DECODED,
    NO_INSTRUCTION,
    ON_EDGE,
    OPERATION_COUNT,
    RECORD_PC,
    RECORD_STATE,
    RECORD_SURENESS,
    SITES,
    TARGET,
    TO_UNKNOWN,
    UNSURE,
    WALKED,
    WRONG_BEFORE,
    WRONG_NOW,
    is_among,
    last_not_above,
    list_call,
    note,
    place_in_file,
)
from testbed.sweep.native.rows import ARGUMENTS, CFA_REGISTER, PC, RULES
from testbed.sweep.native.state import (
    BELIEVED,
    DOUBTED,
    IS_ASSUMED,
    IS_BAD,
    IS_WHOLE,
    SHOWN,
    copy_state,
    forget_below,
    forget_objects,
    is_frame,
    merge,
    store_word,
)
from testbed.sweep.native.thumb import decode_thumb
from testbed.sweep.native.transfer import MEMORY, added, apply, in_first_page, make_equal
from testbed.sweep.native.x86_64 import decode_x86_64

MOST_VENEER = 8  # instructions


@compiled(inline=True)
def decode(which: Any, swept: Any, at: Any, end: Any, pc: Any, fields: Any, operations: Any) -> Any:
    """Length (0: no instruction), flow, target and number of operations of the instruction at a place."""
    if which == X86_64:
        return decode_x86_64(swept.octets, at, end, pc, fields, operations)
    if which == ARM64:
        return decode_arm64(swept.octets, at, end, pc, operations)
    mode = last_not_above(swept.modes, 0, 0, len(swept.modes), pc)
    if mode < 0 or swept.modes[mode, 1] == A32:
        return decode_a32(swept.octets, at, end, pc, operations)
    if swept.modes[mode, 1] == THUMB:
        return decode_thumb(swept.octets, at, end, pc, operations)
    return 0, 0, 0, 0


@compiled(inline=True)
def instruction(at: Any, pc: Any, entry: Any, place_of_code: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Length (0: no instruction), flow, target and operations of the instruction at a place in an entry's code."""
    which = int(room.decoded_at[at])
    if which >= 0:
        known = room.decoded[which]
        begin = known[FIRST_OPERATION]
        return known[LENGTH], known[FLOW], known[TARGET], room.operations[begin : begin + known[OPERATION_COUNT]]
    end = place_of_code + entry[END] - entry[START]
    operations = room.operations[MOST_DECODED:]
    length, flow, target, count = decode(machine.which, swept, place_of_code + at, end, pc, room.fields, operations)
    return int(length), int(flow), int(target), operations[:count]


@compiled()
def arrive(state: Any, entry: Any, target: Any, came: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Take a state over an edge inside the entry: held against the row there, then met with what is known there."""
    edge = room.spare[ON_EDGE]
    head = int(room.marks[target - entry[START]])
    which = last_not_above(swept.rows, PC, entry[FIRST_ROW], entry[LAST_ROW], target)
    if which < entry[FIRST_ROW] or head < 0:
        return
    copy_state(edge, state)
    there, is_led = room.states[head], room.pending[head] != 0
    is_call = came[1] == CALLED or came[1] == LANDED
    is_asked = is_call and is_led and there[IS_BAD] == 0 and edge[IS_ASSUMED] == SHOWN
    if is_asked:
        edge[IS_ASSUMED] = DOUBTED  # others lead there, too: perhaps the call does not come back, or throws nothing
    of_cfa, of_registers = conform(edge, swept, which, target, came, room, machine)
    if of_cfa == ANOTHERS:
        if came[1] == CALLED and is_led:
            list_call(room.target[0], swept.doubted, room)
        return
    if is_asked and edge[IS_ASSUMED] == DOUBTED:
        edge[IS_ASSUMED] = SHOWN
    edge[IS_BAD] = 1 if of_cfa == CONTRADICTED or (is_call and of_registers == CONTRADICTED) else 0
    better = 4 * int(there[IS_BAD] - edge[IS_BAD]) + int(there[IS_ASSUMED] - edge[IS_ASSUMED])
    if not is_led or better > 0:  # what is shown is not made less by what is assumed
        copy_state(there, edge)
    elif better < 0 or not merge(there, edge, machine.stack, head):
        return
    room.pending[head] |= 1
    room.counts[EARLIEST] = min(room.counts[EARLIEST], head)


@compiled()
def leave(state: Any, target: Any, came: Any, swept: Any, room: Any, machine: Any) -> None:
    """Control goes to a place outside of the entry: into another part of the function, or to another function."""
    which = last_not_above(swept.entries, START, 0, len(swept.entries), target)
    if which < 0 or target >= swept.entries[which, END] or swept.entries[which, STATE] != READ:
        note_exit(state, room, machine)
        return
    other = swept.entries[which]
    row = last_not_above(swept.rows, PC, other[FIRST_ROW], other[LAST_ROW], target)
    if row < other[FIRST_ROW]:
        return
    edge = room.spare[ON_EDGE]
    copy_state(edge, state)
    is_function = target == other[START] and begins_function(swept.rows[row], machine)
    if swept.at_calls:
        is_function = state[machine.stack] == place(CFA_BASE, machine.entry)
    if not is_function:
        enter_part(edge, which, row, target, came, swept, room, machine)
        room.counts[EXITS] += 1
        return
    note_exit(state, room, machine)
    held = state[machine.stack]
    if is_frame(held) and low(held) > machine.entry:
        return  # over its caller, who is left as well
    if held == place(CFA_BASE, machine.entry):
        swept.led[which] = BY_FUNCTION
    elif is_among(swept.called, target):
        is_unsure = held >> KIND == MAYBE or state[IS_ASSUMED] != 0
        note(room, CFA_FOUND, UNSURE if is_unsure else CONTRADICTED, target, came, held, row)
    elif not swept.led[which]:
        note(room, LEAVES_BADLY, UNSURE, came[0], came, 0, row)


@compiled()
def enter_part(edge: Any, which: Any, row: Any, target: Any, came: Any, swept: Any, room: Any, machine: Any) -> None:
    """Control goes to a part of a function that lies elsewhere.

    A compiler that knows of a case that never comes may leave a jump to whatever follows some code: the beginning of a
    part that another function uses.
    """
    if target == swept.entries[which, START]:
        if quietly(edge, swept, row, target, came, room, machine) == FINE:
            if swept.led[which] != BY_FUNCTION:
                swept.led[which] = room.counts[LEADER]
        elif not swept.led[which]:
            note(room, LEAVES_BADLY, UNSURE, came[0], came, 0, row)
    else:
        conform(edge, swept, row, target, came, room, machine)
        for k in range(len(machine.kept)):  # two pieces of code that agree on a convention of their own
            own = machine.kept[k]
            if swept.rows[row, RULES + own] == 0 and edge[own] != callers(own) and own != machine.return_address:
                room.counts[CHANGED_AT_EXIT] |= 1 << own


@compiled()
def is_function_at(target: Any, entry: Any, swept: Any, machine: Any) -> Any:
    """Whether a place outside of an entry is where a function begins, or no other entry's."""
    if entry[START] <= target < entry[END]:
        return False
    which = last_not_above(swept.entries, START, 0, len(swept.entries), target)
    if which < 0 or target >= swept.entries[which, END] or swept.entries[which, STATE] != READ:
        return True
    return target == swept.entries[which, START] and begins_function(
        swept.rows[swept.entries[which, FIRST_ROW]], machine
    )


@compiled()
def follow_edge(state: Any, entry: Any, target: Any, came: Any, swept: Any, room: Any, machine: Any) -> None:
    """Go on at a jump's target with a state: in this entry's code, or out of it."""
    if entry[START] <= target < entry[END]:
        arrive(state, entry, target, came, swept, room, machine)
    elif target != entry[END] or state[machine.stack] == place(CFA_BASE, machine.entry):  # else it is never taken
        leave(state, target, came, swept, room, machine)


@compiled()
def walk(head: Any, entry: Any, place_of_code: Any, swept: Any, room: Any, machine: Any) -> None:
    """From a head along instructions to where the next head, or an end, is."""
    state = room.spare[HERE]
    copy_state(state, room.states[head])
    pc, before, way = room.head_pc[head], -1, IN_TURN
    row = max(last_not_above(swept.rows, PC, entry[FIRST_ROW], entry[LAST_ROW], pc), entry[FIRST_ROW])
    watched = 1 << machine.stack | MEMORY
    for k in range(len(machine.kept)):
        watched |= 1 << machine.kept[k]
    is_due, sureness = True, FINE
    room.counts[WRONG_BEFORE] = -1 if head > 0 else 0  # what is wrong at a head was noted where control came from
    compared = room.compared
    compared[0] = -1
    while pc < entry[END]:
        if before >= 0 and room.marks[pc - entry[START]] >= 0:
            arrive(state, entry, pc, (before, way), swept, room, machine)
            return
        if room.decoded_at[pc - entry[START]] == LOADED:
            return
        while row + 1 < entry[LAST_ROW] and swept.rows[row + 1, PC] <= pc:
            row, is_due = row + 1, True
        length, flow, target, operations = instruction(
            pc - entry[START], pc, entry, place_of_code, swept, room, machine
        )
        is_call = flow in (CALL, CALL_AWAY)
        if swept.at_calls:
            is_due, sureness = is_call, FINE
            if is_call:  # the row is for who is called
                state[machine.return_address] = OTHER << KIND
        if is_due or (is_call and sureness == CONTRADICTED):
            room.counts[IS_CALL], room.counts[WRONG_NOW] = is_call, 0
            of_cfa, of_registers = conform(state, swept, row, pc, (before, way), room, machine)
            room.counts[IS_CALL], room.counts[WRONG_BEFORE] = 0, room.counts[WRONG_NOW]
            sureness = max(of_cfa, of_registers)
            if sureness == ANOTHERS:
                assumed = max(DOUBTED, state[IS_ASSUMED])
                believe(state, swept.rows[row], pc, swept, room, machine)
                state[IS_ASSUMED], sureness = assumed, UNSURE
        if length == 0:
            note(room, NO_INSTRUCTION, UNSURE, pc, (before, way), 0, row)
            return
        if room.counts[WALKED] < len(room.record):
            record = room.record[room.counts[WALKED]]
            record[RECORD_PC], record[RECORD_SURENESS] = pc, sureness
            copy_state(record[RECORD_STATE:], state)
        room.counts[WALKED] += 1
        is_quiet = flow == NOTHING and way == CALLED  # what fills up behind a call
        before, way, following = pc, CALLED if is_quiet else IN_TURN, pc + length
        is_due = swept.rows[row, CFA_REGISTER] < 0
        if flow in (NEXT, NOTHING) and not in_first_page(operations, state):
            compared[0] = -1
            touched = apply(operations, state, machine, pc, compared)
            is_due = is_due or touched & watched != 0
            if not is_due and touched != 0:
                is_due = touched >> swept.rows[row, CFA_REGISTER] & 1 != 0 or room.counts[IS_WIDE] != 0
        elif is_call:
            goes_on = call(state, (pc, following, target, flow), entry, place_of_code, row, swept, room, machine)
            if is_by_changed(swept.rows[row], machine):
                room.counts[IS_CALL] = 1
                conform(state, swept, row, pc, (before, IN_TURN), room, machine)
                room.counts[IS_CALL] = 0
            if not goes_on:
                return
            way, is_due = CALLED, True
        elif flow == BRANCH:
            is_due = branch(state, (pc, following, target), operations, entry, swept, room, machine) or is_due
        elif flow >= PERHAPS:
            taken = room.spare[4]
            copy_state(taken, state)
            apply(operations, taken, machine, pc, compared)
            compared[0] = -1
            end_of_walk(taken, flow - PERHAPS, (pc, target), entry, row, swept, room, machine)
        else:
            apply(operations, state, machine, pc, compared)
            end_of_walk(state, flow, (pc, target), entry, row, swept, room, machine)
            return
        pc = following
    at_exit = state[machine.stack] == place(CFA_BASE, machine.entry)
    if way != CALLED and at_exit:  # its entry ends before a function does
        note_exit(state, room, machine)


@compiled()
def branch(state: Any, step: Any, operations: Any, entry: Any, swept: Any, room: Any, machine: Any) -> Any:
    """A branch under a condition: the state goes where it is taken; whether what is known here is more then."""
    pc, following, target = step
    taken, compared = room.spare[4], room.compared
    is_equal = -1
    for k in range(len(operations)):
        if operations[k, 0] == EQUAL:
            is_equal = operations[k, 2]
    one, other = compared[0], compared[1]
    apply(operations, state, machine, pc, compared)
    compared[0], compared[1] = one, other
    copy_state(taken, state)
    if is_equal == 1:
        make_equal(taken, compared)
    elif is_equal == 0:
        make_equal(state, compared)
    compared[0] = -1
    if state[machine.stack] != place(CFA_BASE, machine.entry) and state[IS_ASSUMED] == SHOWN:
        if leads_to_unknown(following, entry, room):
            taken[IS_ASSUMED] = DOUBTED
        elif leads_to_unknown(target, entry, room):
            state[IS_ASSUMED] = DOUBTED
    follow_edge(taken, entry, target, (pc, JUMPED), swept, room, machine)
    return is_equal == 0


@compiled(inline=True)
def leads_to_unknown(pc: Any, entry: Any, room: Any) -> Any:
    """Whether straight code leads from a place to a jump to anywhere.

    In a function's frame that is a jump through a table. What decides whether it is reached asks for a case that
    perhaps never comes, and compilers let that go wherever it happens to.
    """
    which = int(room.decoded_at[pc - entry[START]]) if entry[START] <= pc < entry[END] else -1
    return which >= 0 and room.decoded[which, TO_UNKNOWN] != 0


@compiled()
def behind_veneer(state: Any, entry: Any, target: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Where a jump comes back to its entry, after straight code that no entry is for, with what that does; or its
    target.

    Linkers put instructions elsewhere that a processor gets wrong where they stand, or a jump that reaches further.
    """
    begin, limit = place_in_file(swept.segments, target)
    if begin < 0 or entry[START] <= target < entry[END] or is_called_here(target, swept):
        return target
    operations = room.operations[MOST_DECODED:]
    for is_applied in (False, True):
        at, back = begin, target
        for _ in range(MOST_VENEER):
            pc = target + at - begin
            length, flow, leads, count = decode(machine.which, swept, at, limit, pc, room.fields, operations)
            if length == 0 or (flow != NEXT and flow != NOTHING):
                back = leads if length != 0 and flow == JUMP else target
                break
            if is_applied:
                apply(operations[:count], state, machine, pc, room.compared)
            at += length
        if not entry[START] <= back < entry[END]:
            return target
    return back


@compiled(inline=True)
def is_called_here(target: Any, swept: Any) -> Any:
    """Whether a place is in code that an entry is for."""
    which = last_not_above(swept.entries, START, 0, len(swept.entries), target)
    return which >= 0 and target < swept.entries[which, END]


@compiled()
def call(state: Any, step: Any, entry: Any, place_of_code: Any, row: Any, swept: Any, room: Any, machine: Any) -> Any:
    """A call: its landing pads, what is known behind it; False where nothing goes on there."""
    pc, following, target, flow = step
    stack = machine.stack
    inside = entry[START] < target < entry[END] and room.marks[target - entry[START]] >= 0
    if inside:
        inner = room.spare[4]
        copy_state(inner, state)
        at = max(last_not_above(swept.rows, PC, entry[FIRST_ROW], entry[LAST_ROW], target), entry[FIRST_ROW])
        is_function = begins_function(swept.rows[at], machine)
        if target != following and is_function:
            enter(inner, machine)  # a function inside, with rows of its own; or a place that nobody comes back from
            inner[IS_ASSUMED] = BELIEVED
        elif machine.which == X86_64:
            inner[stack] = added(inner[stack], -8)
            if inner[stack] >> KIND == PLACE:
                store_word(inner, inner[stack], 8, OTHER << KIND, 8)
        else:
            inner[machine.return_address] = OTHER << KIND
        arrive(inner, entry, target, (pc, JUMPED), swept, room, machine)
        if target == following:
            return False
        if not is_function:
            state[IS_ASSUMED] = BELIEVED  # perhaps nobody comes back: a string, a trap, a loop lies there
    if state[stack] >> KIND == PLACE:
        forget_below(state, state[stack])
    forget_objects(state, machine.entry)
    is_local = flow == CALL and is_called_here(target, swept)
    size = state[0] if is_probe(swept.octets, place_of_code + following - entry[START], machine) else OTHER << KIND
    clobber(state, is_local, machine)
    if size >> KIND == NUMBER:
        state[0] = size
    for k in range(room.counts[SITES]):
        if room.sites[k, 0] < following <= room.sites[k, 1]:
            landed = room.spare[4]
            copy_state(landed, state)
            landed[stack] = added(landed[stack], swept.rows[row, ARGUMENTS])
            follow_edge(landed, entry, room.sites[k, 2], (pc, LANDED), swept, room, machine)
            break
    if is_among(swept.endless, target):
        return False
    room.target[0] = target
    at = following - entry[START]
    if target != 0 and following < entry[END] and room.marks[at] < 0:
        is_reached = not is_filling(swept.octets[place_of_code + at], machine)
        if is_reached:
            list_call(target, swept.returning, room)
    return True


@compiled(inline=True)
def is_probe(octets: Any, at: Any, machine: Any) -> Any:
    """Whether `sub %rax, %rsp` stands behind a call: who is called touches so much of the stack, and keeps rax."""
    if machine.which != X86_64 or at + 3 > len(octets):
        return False
    return octets[at] == 0x48 and octets[at + 1] == 0x29 and octets[at + 2] == 0xC4


@compiled(inline=True)
def is_filling(octet: Any, machine: Any) -> Any:
    """Whether a byte may begin what fills up the space behind a call; arm64's compilers fill up behind none."""
    return machine.which == X86_64 and (octet == 0x90 or octet == 0x0F or octet == 0x66 or octet == 0xCC)


@compiled(inline=True)
def note_return(state: Any, pc: Any, came: Any, row: Any, room: Any, machine: Any) -> None:
    """A return, or a jump to another function, with SP elsewhere than at the entry.

    Where the entry's own rows were believed they were wrong, if its start leads there. Where it began as a function, it
    jumps by a return.
    """
    held = state[machine.stack]
    if is_frame(held) and low(held) != machine.entry and not state[IS_WHOLE] and not state[IS_ASSUMED]:
        note(room, CFA_FOUND, CONTRADICTED, pc, came, held, row)
        room.counts[ENDS_ELSEWHERE] = 1


@compiled()
def end_of_walk(state: Any, flow: Any, step: Any, entry: Any, row: Any, swept: Any, room: Any, machine: Any) -> None:
    """A jump, a return, or an instruction that nothing follows."""
    pc, target = step
    if flow == JUMP:
        target = behind_veneer(state, entry, target, swept, room, machine)
        if is_function_at(target, entry, swept, machine):
            note_return(state, pc, (-1, LEFT), row, room, machine)
        follow_edge(state, entry, target, (pc, JUMPED), swept, room, machine)
    elif flow == RETURN:
        note_return(state, pc, (-1, LEFT), row, room, machine)
        note_exit(state, room, machine)
    elif flow == AWAY:
        at_exit = state[machine.stack] == place(CFA_BASE, machine.entry)
        which, counter = (LEAF_STATE, AT_LEAF_JUMPS) if at_exit else (JUMP_STATE, AT_JUMPS)
        if room.counts[counter] == 0:
            copy_state(room.spare[which], state)
        else:
            merge(room.spare[which], state, machine.stack, which)
        room.counts[counter] += 1
        if (at_exit and room.counts[AT_JUMPS] == 0) or state[machine.stack] >> KIND == MAYBE:
            note_exit(state, room, machine)
        else:
            room.counts[EXITS] += 1
