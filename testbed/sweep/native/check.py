"""The static pass: every entry's rows held against its instructions, to a fixpoint over its control flow.

A function's first row is the convention's, and so is the state there. All that follows is worked out. Places that
nothing leads to (behind a jump table, above all) begin with what is known at a jump whose targets are not known, where
that is what their row says, else with what their row says. Such a place is perhaps data, and accuses nobody, where no
jump could lead, an instruction takes its address, the bytes before are no instruction, or it begins with a word off the
stack that nobody put there; until a row begins there.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    AWAY,
    BRANCH,
    CALL,
    CALL_AWAY,
    CALLERS,
    CLOBBER,
    CONSTANT,
    JUMP,
    KIND,
    MOST_OPERATIONS,
    NEXT,
    NOTHING,
    PERHAPS,
    PLACE,
)
from testbed.sweep.native.conform import begins_function, believe, enter, is_right_but_for_known, quietly
from testbed.sweep.native.entries import CIE, END, FIRST_ROW, IS_SIGNAL, LAST_ROW, READ, START, STATE
from testbed.sweep.native.flow import decode, walk
from testbed.sweep.native.landings import read_sites
from testbed.sweep.native.room import (
    ABOUT,
    AGREES,
    ALL_FOUND,
    AS_DATA,
    AS_FUNCTION,
    AT,
    AT_CALLS,
    AT_JUMPS,
    AT_LEAF_JUMPS,
    BAD_TABLE,
    BY_FUNCTION,
    BY_NOBODY,
    CANNOT_TELL,
    CHANGED_AT_EXIT,
    CONTRADICTED,
    COUNTS,
    EARLIEST,
    ENDS_ELSEWHERE,
    EXITS,
    FINE,
    FIRST_OPERATION,
    FLOW,
    FOUND_ROWS,
    FROM,
    GONE,
    HEADS,
    HELD,
    IN_SIGNAL,
    INSTRUCTIONS,
    IS_FIRST,
    IS_GIVEN,
    IS_WIDE,
    JUMP_STATE,
    KEPT_AT_EXIT,
    LEADER,
    LEAF_STATE,
    LENGTH,
    LOADED,
    MOST_BYTES,
    MOST_DECODED,
    MOST_HEADS,
    NAMED,
    NO_CODE,
    NO_PART,
    NOT_ENDING,
    ON_EDGE,
    OPERATION_COUNT,
    OUT_AT,
    OUT_FROM,
    OUT_HELD,
    OUT_ROW,
    OUT_WAY,
    PERHAPS_AT_EXIT,
    PRIVATE,
    REGISTER_FOUND,
    RETURNS,
    ROW_OF,
    SITES,
    SURENESS,
    SUSPECT,
    SWITCHED,
    TARGET,
    TO_UNKNOWN,
    TOO_LARGE,
    UNLED,
    UNLED_HEADS,
    UNSURE,
    VERDICT,
    WALKED,
    WAY,
    WRITES,
    WRONG_AT_CALLS,
    first_not_below,
    is_among,
    last_not_above,
    note,
    place_in_file,
)
from testbed.sweep.native.rows import BITS, CFA_REGISTER, PC, RULES, SAME, UNSAID
from testbed.sweep.native.state import BELIEVED, IS_ASSUMED, IS_WHOLE, REGISTER_COUNT, SHOWN, UNREACHED, copy_state
from testbed.sweep.native.transfer import takes_a_word

MOST_ROUNDS = 500


@compiled(inline=True)
def mark(pc: Any, entry: Any, room: Any) -> None:
    """Make a place a head."""
    if entry[START] <= pc < entry[END]:
        at = pc - entry[START]
        if room.marks[at] < 0:
            room.marks[at] = 0
            room.counts[HEADS] += 1


@compiled()
def mark_heads(entry: Any, begin: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Find the heads: where jumps lead to, what follows the end of a stretch of code. Where the code itself begins.

    Words that instructions before them load are no code, though no symbol says so.
    """
    size = entry[END] - entry[START]
    for k in range(size):
        room.marks[k] = room.decoded_at[k] = -1
    room.counts[HEADS] = instructions = used = straight = 0
    mark(entry[START], entry, room)
    at, row, first, is_behind, is_unread = begin, entry[FIRST_ROW], -1, False, False
    while at < begin + size:
        if room.decoded_at[at - begin] == LOADED:
            at, straight = at + machine.step, instructions
            continue
        pc = entry[START] + at - begin
        operations = room.operations[used:]
        length, flow, target, count = decode(machine.which, swept, at, begin + size, pc, room.fields, operations)
        if length == 0:
            at, straight, is_unread = (
                at + machine.step,
                instructions,
                len(swept.modes) == 0,
            )  # no symbol says what it is
            continue
        if max(used + MOST_OPERATIONS, instructions) < MOST_DECODED:
            known = room.decoded[instructions]
            known[LENGTH], known[FLOW], known[TARGET] = length, flow, target
            known[FIRST_OPERATION], known[OPERATION_COUNT] = used, count
            known[TO_UNKNOWN], known[AS_DATA] = 0, is_unread or room.decoded_at[at - begin] == NAMED
            room.decoded_at[at - begin] = instructions
            instructions, used = instructions + 1, used + count
        for k in range(count):
            if operations[k, 0] == CONSTANT and operations[k, 3] > 0:
                word = at - begin + operations[k, 3]
                room.decoded_at[word : min(word + machine.word, size)] = LOADED
            if operations[k, 0] == CLOBBER and operations[k, 4] == 1:
                place = at - begin + length + operations[k, 2]
                if 0 <= place < size and room.decoded_at[place] >= 0:
                    room.decoded[room.decoded_at[place], AS_DATA] = 1
                elif 0 <= place < size:
                    room.decoded_at[place] = NAMED
        if flow == AWAY:
            room.decoded[straight:instructions, TO_UNKNOWN] = 1
        if flow != NEXT and flow != NOTHING:
            straight = instructions
        if flow != NOTHING:
            first, is_unread = pc if first < 0 else first, False
        if is_behind and flow != NOTHING:
            mark(pc, entry, room)
            is_behind = False
        if flow in (JUMP, BRANCH) or ((flow in (CALL, CALL_AWAY)) and entry[START] < target < entry[END]):
            mark(target, entry, room)
        following = pc + length
        while row + 1 < entry[LAST_ROW] and swept.rows[row + 1, PC] < following:
            row += 1
        if flow in (CALL, CALL_AWAY):
            if is_among(swept.endless, target):
                is_behind = True
            elif row + 1 < entry[LAST_ROW] and swept.rows[row + 1, PC] == following:
                mark(following, entry, room)
        elif flow != BRANCH and flow != NOTHING and (flow == JUMP or AWAY <= flow < PERHAPS):
            is_behind = True
        at += length
    for k in range(room.counts[SITES]):
        mark(room.sites[k, 2], entry, room)
    called = first_not_below(swept.called, entry[START] + 1)
    while called < len(swept.called) and swept.called[called] < entry[END]:
        mark(swept.called[called], entry, room)
        called += 1
    if room.counts[HEADS] < MOST_HEADS:
        number_heads(entry, room)
    return first


@compiled()
def number_heads(entry: Any, room: Any) -> None:
    """Number the heads in the order of the code."""
    heads = 0
    for at in range(entry[END] - entry[START]):
        if room.marks[at] >= 0:
            room.marks[at], room.head_pc[heads], room.pending[heads] = heads, entry[START] + at, 0
            heads += 1


@compiled()
def go_through(entry: Any, begin: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Walk from all heads whose state changed, the first of them in the code first, until none does.

    So a loop is gone through until nothing changes in it before what stands behind it is. False where that never ends.
    """
    left = MOST_ROUNDS * room.counts[HEADS]
    head = 0
    while head < room.counts[HEADS]:
        if room.pending[head] & 1 == 0:
            head += 1
            continue
        if left == 0:
            return False
        left -= 1
        is_new, before = room.pending[head] == 1, room.counts[WALKED]
        room.pending[head] = 2
        room.counts[EARLIEST] = head + 1
        walk(head, entry, begin, swept, room, machine)
        if not is_new:
            room.counts[WALKED] = before
        head = room.counts[EARLIEST]
    return True


@compiled()
def first_unled(room: Any) -> Any:
    """The first head in the code that nothing led to, or -1."""
    for k in range(room.counts[HEADS]):
        if room.pending[k] == 0:
            return k
    return -1


@compiled()
def begin_unled(head: Any, entry: Any, swept: Any, room: Any, machine: Any) -> None:
    """A state for a head that nothing led to."""
    pc = room.head_pc[head]
    if is_among(swept.called, pc):  # who calls it takes it for a function
        enter(room.states[head], machine)
        room.states[head][IS_ASSUMED] = BELIEVED if swept.at_calls else SHOWN  # data may look like a call
        room.pending[head] = 1
        return
    row = max(last_not_above(swept.rows, PC, entry[FIRST_ROW], entry[LAST_ROW], pc), entry[FIRST_ROW])
    edge, at = room.spare[ON_EDGE], room.decoded_at[pc - entry[START]]
    as_data = at >= 0 and room.decoded[at, AS_DATA] != 0
    if head > 0 and room.states[head - 1][IS_ASSUMED] == UNREACHED:
        as_data = True  # so is what follows data
    if at >= 0 and not as_data:
        first = room.decoded[at, FIRST_OPERATION]
        as_data = takes_a_word(room.operations[first : first + room.decoded[at, OPERATION_COUNT]], machine)
    if swept.at_calls:  # its row does not say what is known here
        believe(room.states[head], swept.rows[row], pc, swept, room, machine)
        room.states[head][IS_ASSUMED], room.pending[head] = BELIEVED, 1
        room.counts[UNLED_HEADS] += 1
        return
    for k in range(2):
        counter, which = (AT_JUMPS, JUMP_STATE) if k == 0 else (AT_LEAF_JUMPS, LEAF_STATE)
        if room.counts[counter] > 0:
            copy_state(edge, room.spare[which])
            if is_right_but_for_known(edge, swept, row, pc, room, machine):
                copy_state(room.states[head], edge)
                room.states[head][IS_ASSUMED] = UNREACHED if as_data else edge[IS_ASSUMED]
                room.pending[head] = 1
                return
    state = room.states[head]
    believe(state, swept.rows[row], pc, swept, room, machine)
    before = head - 1
    while before >= 0 and room.pending[before] != 2:
        before -= 1
    if before >= 0:
        copy_state(edge, room.states[before])
        if quietly(edge, swept, row, pc, (-1, SWITCHED), room, machine) == FINE:
            keep_frame(state, edge, machine)
    if as_data or (room.counts[AT_JUMPS] == 0 and room.counts[AT_LEAF_JUMPS] == 0):
        state[IS_ASSUMED] = UNREACHED  # no jump could lead there
    room.pending[head] = 1
    room.counts[UNLED_HEADS] += 1


@compiled()
def keep_frame(state: Any, other: Any, machine: Any) -> None:
    """The frame is most probably as in the code before: SP, what frame pointers and words of the frame hold."""
    for k in range(REGISTER_COUNT):
        is_known = k == machine.stack
        for each in range(len(machine.kept)):
            is_known = is_known or machine.kept[each] == k
        kind = other[k] >> KIND
        if not is_known or (kind != PLACE and kind != CALLERS):
            other[k] = state[k]
    other[IS_WHOLE] = 0
    copy_state(state, other)


@compiled()
def settle(entry: Any, begin: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Go through all code of an entry, what nothing leads to, too; False where that never ends."""
    ends_elsewhere = -1
    while True:
        if not go_through(entry, begin, swept, room, machine):
            return False
        if ends_elsewhere < 0:
            ends_elsewhere = room.counts[ENDS_ELSEWHERE]
        head = first_unled(room)
        if head < 0:
            room.counts[ENDS_ELSEWHERE] = ends_elsewhere  # other code says nothing of the start
            return True
        begin_unled(head, entry, swept, room, machine)


@compiled()
def check_entry(entry: Any, swept: Any, room: Any, machine: Any, out: Any) -> None:
    """Fill in what is said of one entry."""
    for k in range(FOUND_ROWS):
        room.found[k, SURENESS] = FINE
    for k in range(COUNTS):
        room.counts[k] = 0
    room.counts[WRITES] = 1
    begin, limit = place_in_file(swept.segments, entry[START])
    size = entry[END] - entry[START]
    nowhere = (-1, 0)
    if entry[STATE] != READ:
        note(room, BAD_TABLE, UNSURE, entry[START], nowhere, entry[STATE], 0)
    elif swept.cies[entry[CIE], IS_SIGNAL]:
        note(room, IN_SIGNAL, UNSURE, entry[START], nowhere, 0, 0)
    elif begin < 0 or begin + size > limit:
        note(room, NO_CODE, UNSURE, entry[START], nowhere, 0, 0)
    elif size > MOST_BYTES or size > len(room.marks):
        note(room, TOO_LARGE, UNSURE, entry[START], nowhere, 0, 0)
    else:
        check_code(entry, begin, swept, room, machine)
    judge(entry, swept, room, machine, out)


@compiled()
def check_code(entry: Any, begin: Any, swept: Any, room: Any, machine: Any) -> None:
    """Compare an entry's rows with what its instructions do on every path, and note where they differ."""
    read_sites(swept, entry, room, room.stack, machine.word)
    first = mark_heads(entry, begin, swept, room, machine)
    if room.counts[HEADS] >= MOST_HEADS:
        note(room, TOO_LARGE, UNSURE, entry[START], (-1, 0), 0, 0)
        return
    row = max(last_not_above(swept.rows, PC, entry[FIRST_ROW], entry[LAST_ROW], max(first, entry[START])), 0)
    for k in range(entry[FIRST_ROW], entry[LAST_ROW]):
        if swept.rows[k, CFA_REGISTER] < 0:
            room.counts[IS_WIDE] = 1
        for own in range(len(machine.kept)):
            if swept.rows[k, RULES + machine.kept[own]] & ((1 << BITS) - 1) > 3:
                room.counts[IS_WIDE] = 1
    number = last_not_above(swept.entries, START, 0, len(swept.entries), entry[START])
    is_called = is_among(swept.called, entry[START]) and swept.led[number] == BY_NOBODY
    is_function = begins_function(swept.rows[row], machine) or is_called or swept.led[number] == AS_FUNCTION
    if swept.at_calls:
        is_function = swept.led[number] <= BY_NOBODY
    room.counts[LEADER] = BY_FUNCTION if is_function else number + 1
    if is_function:
        enter(room.states[0], machine)
    else:
        believe(room.states[0], swept.rows[row], max(first, entry[START]), swept, room, machine)
        room.states[0][IS_ASSUMED] = BELIEVED if swept.at_calls else SHOWN
    room.pending[0] = 1
    if first > entry[START] and row != entry[FIRST_ROW]:
        room.head_pc[0], room.marks[0] = first, -1
        room.marks[first - entry[START]] = 0
    if not settle(entry, begin, swept, room, machine):
        note(room, NOT_ENDING, UNSURE, entry[START], (-1, 0), 0, 0)
        return
    if room.counts[ENDS_ELSEWHERE] and not is_function and swept.led[number] == BY_NOBODY:
        swept.led[number] = AS_FUNCTION  # the next round begins it so
    doubts = 0
    for k in range(FOUND_ROWS):
        doubts += room.found[k, SURENESS]
        room.found[k, SURENESS] = FINE
    if doubts == 0 and len(room.record) == 0:
        return  # nothing was doubted on the way here, where less was left open
    for counter in (WALKED, EXITS, CHANGED_AT_EXIT, PERHAPS_AT_EXIT, KEPT_AT_EXIT, WRONG_AT_CALLS, GONE):
        room.counts[counter] = 0
    for k in range(room.counts[HEADS]):
        walk(k, entry, begin, swept, room, machine)


@compiled(inline=True)
def is_before(one: Any, other: Any) -> Any:
    """Whether one of two findings that are as sure is told: where it begins, then the lower one."""
    return one[AT] < other[AT] if one[SURENESS] == UNSURE or one[IS_FIRST] == other[IS_FIRST] else one[IS_FIRST] != 0


@compiled()
def judge(entry: Any, swept: Any, room: Any, machine: Any, out: Any) -> None:
    """The verdict of what was found: the first place that is surely wrong, else the first that is not known.

    A register that is changed where the function ends is not the callers' to keep: the function has a convention of
    its own. What its rows say where they say "same value" is no mistake; nor is it of one that is kept in another.
    Where it is perhaps changed at each end, that is not known. Where rows hold at calls only, ways go wrong behind
    those that do not come back: a register that is given back at any end is the callers'. An entry that counts a CFA
    from an argument speaks of a frame that is none on its stack: nothing is sure of it.
    """
    perhaps = room.counts[PERHAPS_AT_EXIT] & ~room.counts[KEPT_AT_EXIT]
    out[PRIVATE] = room.counts[CHANGED_AT_EXIT] & ~(room.counts[KEPT_AT_EXIT] if swept.at_calls else 0)
    out[VERDICT], out[ABOUT], out[ALL_FOUND], out[AT_CALLS] = AGREES, 0, 0, 0
    out[INSTRUCTIONS], out[RETURNS], out[UNLED] = room.counts[WALKED], room.counts[EXITS], room.counts[UNLED_HEADS]
    best = -1
    for about in range(FOUND_ROWS):
        found = room.found[about]
        if found[SURENESS] == FINE:
            continue
        own = about - REGISTER_FOUND
        is_register = 0 <= own < REGISTER_COUNT
        is_same = is_register and swept.rows[found[ROW_OF], RULES + own] & ((1 << BITS) - 1) == SAME
        if room.counts[IS_GIVEN]:
            found[SURENESS] = UNSURE
        if is_same and found[SURENESS] == CONTRADICTED:
            if (out[PRIVATE] | ~room.counts[GONE]) >> own & 1:
                out[PRIVATE] |= 1 << own
                continue
            if perhaps >> own & 1:
                found[SURENESS] = UNSURE
        if found[SURENESS] == CONTRADICTED:
            out[ALL_FOUND] |= 1 << about
            out[AT_CALLS] |= room.counts[WRONG_AT_CALLS] & 1 << about
        if (
            best < 0
            or found[SURENESS] > room.found[best, SURENESS]
            or (found[SURENESS] == room.found[best, SURENESS] and is_before(found, room.found[best]))
        ):
            best = about
    if best >= 0:
        found = room.found[best]
        out[VERDICT] = SUSPECT if found[SURENESS] == CONTRADICTED else CANNOT_TELL
        out[ABOUT], out[OUT_AT], out[OUT_FROM], out[OUT_WAY] = best, found[AT], found[FROM], found[WAY]
        out[OUT_HELD], out[OUT_ROW] = found[HELD], found[ROW_OF]


@compiled()
def is_led(number: Any, swept: Any) -> Any:
    """Whether a function leads to an entry, perhaps by parts that it leads to; parts that lead to each other do not."""
    for _ in range(MOST_ROUNDS):
        leader = swept.led[number]
        if leader <= 0:
            return leader != BY_NOBODY
        number = leader - 1
        if swept.rows[swept.entries[number, FIRST_ROW], CFA_REGISTER] < 0:
            return True
    return False


@compiled()
def doubt_parts(swept: Any, machine: Any, out: Any) -> None:
    """What begins as a part of a function does, and nothing leads to it as its first row says, is perhaps none.

    Then it is the first row that is wrong, and not what contradicts it behind. Two kinds are nobody's part: `.plt`,
    which has an expression among its CFAs, and what says that nobody called it.
    """
    for i in range(len(swept.entries)):
        entry = swept.entries[i]
        if out[i, VERDICT] == CANNOT_TELL or is_led(i, swept) or entry[FIRST_ROW] >= entry[LAST_ROW]:
            continue
        row = swept.rows[entry[FIRST_ROW]]
        is_part = not begins_function(row, machine) and not is_among(swept.called, entry[START])
        is_part = is_part and row[RULES + machine.return_address] & ((1 << BITS) - 1) != UNSAID
        for k in range(entry[FIRST_ROW], entry[LAST_ROW]):
            is_part = is_part and swept.rows[k, CFA_REGISTER] >= 0
        if is_part:
            out[i, VERDICT], out[i, ABOUT] = CANNOT_TELL, NO_PART
            out[i, OUT_AT], out[i, OUT_FROM], out[i, OUT_ROW] = entry[START], -1, entry[FIRST_ROW]
            out[i, ALL_FOUND] = out[i, AT_CALLS] = 0


@compiled(pays_from=100000)
def check_entries(swept: Any, which: Any, room: Any, machine: Any, out: Any) -> None:
    """Fill in what is said of some entries."""
    for k in range(len(which)):
        check_entry(swept.entries[which[k]], swept, room, machine, out[which[k]])
