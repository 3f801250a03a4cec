"""What the operations of an instruction make of a state."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    ADD,
    ADD_TWO,
    ALIGN,
    ALIGNMENT,
    ANY_VALUE,
    BASES,
    CALLERS,
    CFA_BASE,
    COMPARE,
    CONSTANT,
    COPY,
    HIDE,
    INSERT,
    INSTRUCTION_BASE,
    KERNEL,
    KIND,
    LOAD,
    MAYBE,
    MEETING_BASE,
    NUMBER,
    OTHER,
    PLACE,
    SIGN,
    SIGNED,
    SPILL,
    STORE,
    low,
    number,
    place,
    rounded,
    with_sign,
)
from testbed.sweep.native.state import BELIEVED, IS_ASSUMED, IS_WHOLE, LOST, is_frame, new_stretch, store_word, word_at

MEMORY = 1 << 62  # in what an instruction touched: a word that is followed; its other bits are registers


@compiled(inline=True)
def added(value: Any, distance: Any) -> Any:
    """A value and a number."""
    kind = value >> KIND
    if kind == PLACE:
        return place(value >> 48 & 0xFF, low(value) + distance)
    if kind == NUMBER:
        return number(low(value) + distance)
    if distance == 0:
        return value
    return MAYBE << KIND if kind == MAYBE else OTHER << KIND


@compiled(inline=True)
def summed(one: Any, other: Any, sign: Any) -> Any:
    """The sum or difference of two values."""
    if other >> KIND == NUMBER:
        return added(one, sign * low(other))
    if one >> KIND == NUMBER and sign == 1:
        return added(other, low(one))
    kinds = one >> KIND, other >> KIND
    return MAYBE << KIND if MAYBE in kinds or PLACE in kinds else OTHER << KIND


@compiled(inline=True)
def in_first_page(operations: Any, state: Any) -> Any:
    """Whether memory is read or written in the first page: there is none, and so programs end on purpose."""
    found = False
    for k in range(len(operations)):
        base = operations[k, 2]
        if (operations[k, 0] == LOAD or operations[k, 0] == STORE) and base >= 0 and state[base] >> KIND == NUMBER:
            found = found or 0 <= low(state[base]) + operations[k, 3] < 4096
    return found


@compiled()
def takes_a_word(operations: Any, machine: Any) -> Any:
    """Whether a word is popped into a register that calls do not preserve: none of a frame's own begins code so."""
    is_loaded = is_raised = False
    for k in range(len(operations)):
        is_raised = is_raised or (
            operations[k, 0] == ADD and operations[k, 1] == machine.stack and operations[k, 3] > 0
        )
        for each in range(len(machine.clobbered)):
            own = machine.clobbered[each]
            is_own = operations[k, 1] == own and own != machine.return_address
            is_loaded = is_loaded or (operations[k, 0] == LOAD and operations[k, 2] == machine.stack and is_own)
    return is_loaded and is_raised


@compiled()
def apply(operations: Any, state: Any, machine: Any, pc: Any, compared: Any) -> Any:
    """Change a state; what was touched. ``compared`` are the registers that are equal, or not."""
    touched, stack = 0, machine.stack
    for k in range(len(operations)):
        kind, register, first = operations[k, 0], operations[k, 1], operations[k, 2]
        second, third = operations[k, 3], operations[k, 4]
        value = OTHER << KIND
        if kind == STORE:
            if stored(state, register, first, second, third, machine.word):
                touched |= MEMORY
            continue
        if kind == SPILL:
            spilled(state, register, first, second)
            continue
        if kind == KERNEL:
            if state[register] >> KIND == NUMBER and (low(state[register]) in (first, second)):
                state[IS_ASSUMED] = BELIEVED
            continue
        if kind == COMPARE:
            compared[0], compared[1] = register, first
            continue
        if register < 0 or register >= 40:
            continue
        if kind == LOAD:
            if third == machine.word and first >= 0 and state[first] >> KIND == PLACE:
                value = word_at(state, added(state[first], second))
            elif first >= 0 and (state[first] >> KIND == MAYBE or state[first] >> KIND == PLACE):
                value = MAYBE << KIND
        elif kind == COPY:
            value = state[first]
        elif kind == ADD:
            value = added(state[first], second)
        elif kind == ADD_TWO:
            value = OTHER << KIND
            if second >= 0:
                value = summed(state[first], state[second], third)
            elif state[first] >> KIND == PLACE or state[first] >> KIND == MAYBE:
                value = MAYBE << KIND
            if register == stack and state[first] == place(CFA_BASE, machine.entry) and third == 1:
                value = MAYBE << KIND  # a frame is cut off, of more than this function, or none
            elif register == stack and value >> KIND != PLACE:
                value = new_stretch(state, INSTRUCTION_BASE + pc % (MEETING_BASE - INSTRUCTION_BASE))
        elif kind == CONSTANT:
            value = number(first)
        elif kind == ALIGN:
            value = state[first]
            if value >> KIND == NUMBER:
                value = number(low(value) & second)
            elif is_frame(value) and second < 0 and rounded(value, second) != value and second >= -ALIGNMENT:
                value = new_stretch(
                    state, MEETING_BASE + pc % (BASES - MEETING_BASE)
                )  # who aligns to what the ABI gives does not count on it
            elif is_frame(value) and second < 0:
                value = rounded(value, second)
            elif value >> KIND == PLACE and second < 0:
                value = new_stretch(state, INSTRUCTION_BASE + pc % (MEETING_BASE - INSTRUCTION_BASE))
            else:
                value = OTHER << KIND
        elif kind == INSERT:
            if state[register] >> KIND == NUMBER:
                value = number(low(state[register]) & ~(0xFFFF << second) | first << second)
                if machine.word == 4:
                    value = number(with_sign(low(value) & 0xFFFF_FFFF, 32))
        elif kind == SIGN:
            value = state[register]
            if value >> KIND == CALLERS:
                value = value | SIGNED if first else value & ~SIGNED
        elif kind == HIDE:
            value = MAYBE << KIND
        if register == stack and (value >> KIND == OTHER or value >> KIND == CALLERS):
            value = MAYBE << KIND
        state[register] = value
        touched |= 1 << register
    return touched


@compiled(inline=True)
def make_equal(state: Any, compared: Any) -> None:
    """Two registers are equal: what is known of one is known of the other."""
    one, other = compared[0], compared[1]
    if one >= 0 and other >= 0:
        if state[one] >> KIND == MAYBE or is_frame(state[other]):
            state[one] = state[other]
        elif state[other] >> KIND == MAYBE or is_frame(state[one]):
            state[other] = state[one]


@compiled(inline=True)
def stored(state: Any, source: Any, base: Any, distance: Any, size: Any, word: Any) -> Any:
    """Store to memory; whether a word that is followed is touched."""
    if base < 0:
        return False
    value = state[source] if source >= 0 else (MAYBE if source == ANY_VALUE else OTHER) << KIND
    if state[base] >> KIND == PLACE:
        return store_word(state, added(state[base], distance), size, value, word)
    if state[base] >> KIND == MAYBE:
        out_of_sight(state, source, value)
    return False


@compiled(inline=True)
def spilled(state: Any, source: Any, base: Any, index: Any) -> None:
    """Put a value where nobody follows it, if that may be the frame."""
    value = state[source] if source >= 0 else MAYBE << KIND
    near = base < 0 and index < 0
    for each in (base, index):
        near = near or (each >= 0 and (state[each] >> KIND == PLACE or state[each] >> KIND == MAYBE))
    if near:
        out_of_sight(state, source, value)


@compiled(inline=True)
def out_of_sight(state: Any, source: Any, value: Any) -> None:
    """A caller's register may be in any word that is not followed, then; so may be what was in memory."""
    if value >> KIND == CALLERS:
        state[LOST] |= 1 << (value & 0x3F)
    elif source == ANY_VALUE:
        state[IS_WHOLE] = 0
