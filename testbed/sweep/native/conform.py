"""A row held against what is known before an instruction."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    BELIEVED_BASE,
    CALLERS,
    CFA_BASE,
    KIND,
    MAYBE,
    MEETING_BASE,
    NUMBER,
    OTHER,
    PLACE,
    ROUNDED_BASE,
    SIGNED,
    X86_64,
    callers,
    low,
    place,
)
from testbed.sweep.native.entries import leb
from testbed.sweep.native.expression import evaluate
from testbed.sweep.native.room import (
    ANOTHERS,
    CALLED,
    CFA_FOUND,
    CHANGED_AT_EXIT,
    CONTRADICTED,
    EXITS,
    FINE,
    GONE,
    HERE,
    IN_TURN,
    IS_CALL,
    IS_GIVEN,
    KEPT_AT_EXIT,
    LANDED,
    LEAVES_BADLY,
    MAY_NOT_RETURN,
    NOT_REACHED,
    PERHAPS_AT_EXIT,
    REGISTER_FOUND,
    SURENESS,
    SWITCHED,
    UNSURE,
    WRITES,
    note,
)
from testbed.sweep.native.rows import (
    AT_CFA,
    AT_EXPRESSION,
    BITS,
    CFA_OFFSET,
    CFA_REGISTER,
    IN_REGISTER,
    IS_SIGNED,
    PC,
    RULES,
    SAME,
    UNSAID,
    kept_register,
)
from testbed.sweep.native.state import (
    BELIEVED,
    DOUBTED,
    FIRST_WORD,
    IS_ASSUMED,
    IS_BAD,
    IS_WHOLE,
    LOST,
    REGISTER_COUNT,
    SHOWN,
    UNREACHED,
    WORDS,
    copy_state,
    follow,
    is_frame,
    word_index,
)


@compiled()
def conform(state: Any, swept: Any, which: Any, pc: Any, came: Any, room: Any, machine: Any) -> Any:
    """How surely a state contradicts a row, CFA and registers; what is not known is as the row says from here on.

    Where perhaps nobody comes this way, the row is perhaps for others: ANOTHERS. Only a row that begins on this way and
    agrees shows that somebody comes; and a row that agreed up to an instruction is wrong behind that, whoever comes, if
    that is code at all.
    """
    if swept.at_calls and not room.counts[IS_CALL]:
        return FINE, FINE
    row = swept.rows[which]
    begins, is_led = row[PC] == pc, came[0] >= 0
    is_doubted = begins and came[1] == CALLED  # perhaps nobody comes back
    is_data = False
    if state[IS_ASSUMED] >= DOUBTED:
        is_data = state[IS_ASSUMED] == UNREACHED and is_led and came[1] == IN_TURN and not begins
        is_doubted = begins or not is_led or came[1] != IN_TURN or is_data
    if row[RULES + machine.return_address] & ((1 << BITS) - 1) == UNSAID:
        state[IS_ASSUMED] = BELIEVED  # nobody called: whoever goes on from here has no caller either
        return FINE, FINE
    wanted, register = place(CFA_BASE, 0), -1
    if row[CFA_REGISTER] < 0:
        held = evaluate(swept.octets, row[CFA_OFFSET], -1, state, room.stack, pc, machine.which)
    else:
        register = kept_register(row[CFA_REGISTER], machine.which)
        wanted = place(CFA_BASE, -row[CFA_OFFSET])
        held = state[register] if register >= 0 else MAYBE << KIND
    of_cfa = FINE
    if held != wanted:
        is_given = is_argument(held, machine) or (held >> KIND == OTHER and row[PC] == pc)
        room.counts[IS_GIVEN] |= is_argument(held, machine)
        is_lost = held >> KIND == MAYBE or (held >> KIND == PLACE and held >> 48 & 0xFF >= MEETING_BASE)
        is_lost = is_lost or is_thrown_away(state, register, held, machine)
        of_cfa = UNSURE if is_lost or is_given or state[IS_ASSUMED] == BELIEVED else CONTRADICTED
        if of_cfa == UNSURE or not is_doubted:
            note(room, CFA_FOUND, of_cfa, pc, came, held, which)
        if is_given:  # another frame, which the row begins to speak of: nothing is known of it
            state[IS_ASSUMED] = BELIEVED
            return of_cfa, FINE
        if is_lost:
            if held >> KIND == MAYBE and register == machine.stack and came[1] == IN_TURN:
                room.counts[CHANGED_AT_EXIT] |= changed(state, machine)  # SP is another stack's: this one's end
            state[IS_ASSUMED] = BELIEVED
            if register >= 0:
                state[register] = wanted
    of_registers = FINE
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        sureness, held = held_against(row, own, state, swept, pc, room, machine)
        of_registers = max(of_registers, sureness)
        if sureness == CONTRADICTED and room.counts[WRITES] and not is_in_another(state, own, machine):
            room.counts[GONE] |= 1 << own
        if sureness == UNSURE or (sureness == CONTRADICTED and not is_doubted):
            note(room, REGISTER_FOUND + own, sureness, pc, came, held, which)
    sureness = max(of_cfa, of_registers)
    if is_doubted and sureness == CONTRADICTED:
        if came[1] != LANDED:
            about = NOT_REACHED if is_data else MAY_NOT_RETURN if came[1] == CALLED else LEAVES_BADLY
            note(room, about, UNSURE, came[0] if is_led else pc, came, 0, which)
        return ANOTHERS, ANOTHERS
    if begins and is_led and sureness == FINE and state[IS_ASSUMED] >= DOUBTED:
        state[IS_ASSUMED] = SHOWN
    return of_cfa, of_registers


@compiled()
def quietly(state: Any, swept: Any, which: Any, pc: Any, came: Any, room: Any, machine: Any) -> Any:
    """How surely a state contradicts a row, with nothing written down."""
    writes, room.counts[WRITES] = room.counts[WRITES], 0
    of_cfa, of_registers = conform(state, swept, which, pc, came, room, machine)
    room.counts[WRITES] = writes
    return max(of_cfa, of_registers)


@compiled()
def is_right_but_for_known(state: Any, swept: Any, row: Any, pc: Any, room: Any, machine: Any) -> Any:
    """Whether a state is as a row says, but for registers that were told to be overwritten where a row denies it."""
    kept = room.spare[HERE]
    copy_state(kept, state)
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        is_same = swept.rows[row, RULES + own] & ((1 << BITS) - 1) == SAME
        if is_same and room.found[REGISTER_FOUND + own, SURENESS] == CONTRADICTED and kept[own] >> KIND != MAYBE:
            state[own] = callers(own)
    sureness = quietly(state, swept, row, pc, (-1, SWITCHED), room, machine)
    for k in range(len(machine.kept)):
        state[machine.kept[k]] = kept[machine.kept[k]]
    return sureness == FINE


@compiled(inline=True)
def is_thrown_away(state: Any, register: Any, held: Any, machine: Any) -> Any:
    """Whether SP lies above the return address, and no register has that: nobody comes back to who called, if one did.

    Such code is led to with more on the stack, as by a `ret`, or ends its caller's frame, as what LLVM outlines.
    """
    is_above = register == machine.stack and is_frame(held) and low(held) > machine.entry
    found = False
    for k in range(REGISTER_COUNT):
        found = found or (k != machine.return_address and state[k] == callers(machine.return_address))
    return is_above and state[IS_WHOLE] != 0 and not found


@compiled(inline=True)
def is_in_another(state: Any, own: Any, machine: Any) -> Any:
    """Whether what the caller had in a register is in another one meanwhile: no compiler has a row for that.

    What callers find their frames by is not to be looked for there.
    """
    found = False
    for k in range(REGISTER_COUNT):
        found = found or (k != own and state[k] == callers(own))
    return found and own != machine.return_address and own != machine.frame


@compiled(inline=True)
def changed(state: Any, machine: Any) -> Any:
    """The registers that surely have another value than the caller's."""
    registers = 0
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        if own != machine.return_address and state[own] != callers(own) and state[own] != MAYBE << KIND:
            registers |= 1 << own
    return registers


@compiled(inline=True)
def is_argument(held: Any, machine: Any) -> Any:
    """Whether a value came in a register that the caller may use for whatever both know, as for a frame."""
    if held >> KIND != CALLERS:
        return False
    is_kept = False
    for k in range(len(machine.kept)):
        is_kept = is_kept or machine.kept[k] == held & 0xFF
    return not is_kept


@compiled(inline=True)
def is_by_changed(row: Any, machine: Any) -> Any:
    """Whether a row finds a frame by a register that who is called may change: it is of no use to who is called."""
    found = False
    for k in range(len(machine.clobbered)):
        found = found or (machine.clobbered[k] == row[CFA_REGISTER] and row[CFA_REGISTER] != machine.return_address)
    for k in range(len(machine.kept)):
        found = found or row[RULES + machine.kept[k]] & ((1 << BITS) - 1) == IN_REGISTER
    return found


@compiled(inline=True)
def held_against(row: Any, own: Any, state: Any, swept: Any, pc: Any, room: Any, machine: Any) -> Any:
    """How surely the rule of one register is contradicted, and what is there instead."""
    rule = row[RULES + own]
    kind, number = rule & ((1 << BITS) - 1), rule >> BITS
    wanted = callers(own)
    if own == machine.return_address and row[IS_SIGNED]:
        wanted |= SIGNED
    held = wanted
    if kind == SAME:
        held = state[own]
        if held == NUMBER << KIND and own == machine.frame:
            held = MAYBE << KIND  # so a frame pointer says that this is a thread's first function
    elif kind == IN_REGISTER:
        held = state[number] if 0 <= number < REGISTER_COUNT else MAYBE << KIND
    elif kind == AT_CFA:
        held = saved_at(state, place(CFA_BASE, number), own, wanted)
        is_address = held == OTHER << KIND or is_argument(held, machine)
        if own == machine.return_address and is_address and word_index(state, place(CFA_BASE, number)) >= 0:
            held = wanted  # somebody put another address there, and that is where it returns to
    elif kind != UNSAID:
        where = evaluate(swept.octets, number, place(CFA_BASE, 0), state, room.stack, pc, machine.which)
        if kind == AT_EXPRESSION and where >> KIND == PLACE:
            held = saved_at(state, where, own, wanted)
        elif kind == AT_EXPRESSION:
            held = MAYBE << KIND  # only the stack is followed
        else:
            held = where
    if held == wanted:
        return FINE, held
    return UNSURE if held >> KIND == MAYBE or state[IS_ASSUMED] == BELIEVED else CONTRADICTED, held


@compiled(inline=True)
def saved_at(state: Any, where: Any, own: Any, wanted: Any) -> Any:
    """What lies where a register is said to be saved; where that is not known, it is from here on."""
    k = word_index(state, where)
    if k >= 0:
        held = state[FIRST_WORD + 2 * k + 1]
    else:
        is_own = where >> 48 & 0xFF < ROUNDED_BASE and low(where) < 0  # above the CFA lies what others put there
        is_known = state[IS_WHOLE] and not state[LOST] >> (own & 63) & 1 and is_own
        held = OTHER << KIND if is_known else MAYBE << KIND
    if held >> KIND == MAYBE:
        follow(state, where, wanted)
    return held


@compiled()
def enter(state: Any, machine: Any) -> None:
    """The state at the entry of a function, by the convention."""
    for k in range(REGISTER_COUNT):
        state[k] = callers(k)
    state[IS_WHOLE] = 1
    state[IS_BAD] = state[LOST] = state[IS_ASSUMED] = state[WORDS] = 0
    state[machine.stack] = place(CFA_BASE, machine.entry)
    if machine.which == X86_64:
        follow(state, place(CFA_BASE, -8), callers(machine.return_address))


@compiled(inline=True)
def begins_function(row: Any, machine: Any) -> Any:
    """Whether a row is what the convention says of a function's first instruction."""
    if row[CFA_REGISTER] != machine.stack or row[CFA_OFFSET] != -machine.entry:
        return False
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        usual = 0 if machine.which != X86_64 or own != machine.return_address else (-8 << 3) | 1
        if row[RULES + own] != usual:
            return False
    return True


@compiled()
def believe(state: Any, row: Any, pc: Any, swept: Any, room: Any, machine: Any) -> None:
    """The state that a row describes: all that it says is so, and nothing else is known.

    Where its CFA is an expression, SP is as at an entry, or a word or two below that, if the expression is right then.
    """
    for k in range(REGISTER_COUNT):
        state[k] = MAYBE << KIND
    state[IS_WHOLE] = state[IS_BAD] = state[LOST] = state[IS_ASSUMED] = state[WORDS] = 0
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        rule = row[RULES + own]
        kind, number = rule & ((1 << BITS) - 1), rule >> BITS
        value = callers(own)
        if own == machine.return_address and row[IS_SIGNED]:
            value |= SIGNED
        if kind == SAME:
            state[own] = value
        elif kind == AT_CFA:
            follow(state, place(CFA_BASE, number), value)
        elif kind == IN_REGISTER and 0 <= number < REGISTER_COUNT:
            state[number] = value
    register = kept_register(row[CFA_REGISTER], machine.which) if row[CFA_REGISTER] >= 0 else -1
    if register >= 0:
        state[register] = place(CFA_BASE, -row[CFA_OFFSET])
    elif not believe_word(state, row, swept, room, machine):
        for k in range(3):
            state[machine.stack] = place(CFA_BASE, machine.entry - machine.word * k)
            held = evaluate(swept.octets, row[CFA_OFFSET], -1, state, room.stack, pc, machine.which)
            if held == place(CFA_BASE, 0):
                return
            state[machine.stack] = MAYBE << KIND
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        rule = row[RULES + own]
        if rule & ((1 << BITS) - 1) == AT_EXPRESSION:
            where = evaluate(swept.octets, rule >> BITS, place(CFA_BASE, 0), state, room.stack, pc, machine.which)
            if where >> KIND == PLACE:
                follow(state, where, callers(own))


@compiled()
def believe_word(state: Any, row: Any, swept: Any, room: Any, machine: Any) -> Any:
    """Where the CFA is a word near a register, and perhaps a number besides: have it there. Whether it is said so."""
    octets, cursor = swept.octets, room.stack
    cursor[0] = row[CFA_OFFSET]
    length = leb(octets, cursor, len(octets), False)
    end = cursor[0] + length
    if cursor[0] < 0 or length < 3 or end > len(octets):
        return False
    code = int(octets[cursor[0]])
    cursor[0] += 1
    register = kept_register(code - 0x70, machine.which) if 0x70 <= code < 0x90 else -1
    distance = leb(octets, cursor, end, True)
    if register < 0 or not 0 < cursor[0] < end or octets[cursor[0]] != 0x06:
        return False
    cursor[0] += 1
    more = 0
    if cursor[0] < end and octets[cursor[0]] == 0x23:
        cursor[0] += 1
        more = leb(octets, cursor, end, False)
    if cursor[0] != end:
        return False
    if state[register] >> KIND != PLACE:
        state[register] = place(BELIEVED_BASE, 0)
    follow(state, place(state[register] >> 48 & 0xFF, low(state[register]) + distance), place(CFA_BASE, -more))
    return True


@compiled(inline=True)
def clobber(state: Any, is_local: Any, machine: Any) -> None:
    """What a call leaves in the registers that the convention does not preserve.

    Who is called may promise more: to keep a copy of what its caller's caller had, and in the same file a place.
    """
    for k in range(len(machine.clobbered)):
        own = machine.clobbered[k]
        held = state[own]
        is_copy = held >> KIND == CALLERS and held & 0xFF != own and not is_argument(held, machine)
        state[own] = (MAYBE if is_copy or (is_local and held >> KIND == PLACE) else OTHER) << KIND


@compiled()
def note_exit(state: Any, room: Any, machine: Any) -> None:
    """Which registers a function gives back changed where it ends, perhaps changed, or as they were."""
    room.counts[EXITS] += 1
    for k in range(len(machine.kept)):
        own = machine.kept[k]
        if own != machine.return_address:
            held = state[own]
            which = KEPT_AT_EXIT if held == callers(own) else CHANGED_AT_EXIT
            room.counts[PERHAPS_AT_EXIT if held == MAYBE << KIND else which] |= 1 << own
