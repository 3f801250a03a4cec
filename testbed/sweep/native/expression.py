"""DWARF expressions over what is known of registers and of the frame (DWARF 5, section 2.5)."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import CALLERS, KIND, MAYBE, NUMBER, PLACE, X86_64, low, number, rounded, signed_number
from testbed.sweep.native.entries import leb
from testbed.sweep.native.rows import kept_register
from testbed.sweep.native.state import is_frame, word_at
from testbed.sweep.native.transfer import added, summed

MOST_STACK, MOST_OPERATIONS_RUN = 30, 200
_UNKNOWN = MAYBE << KIND
_PC = 16


@compiled()
def evaluate(octets: Any, at: Any, pushed: Any, state: Any, stack: Any, pc: Any, machine: Any) -> Any:
    """The value of an expression whose length stands at a place of the file; ``stack`` has room, its end is a cursor.

    ``pushed`` is what stands on the stack at first; -1: nothing.
    """
    cursor = stack[MOST_STACK:]
    cursor[0] = at
    length = leb(octets, cursor, len(octets), False)
    end, depth = cursor[0] + length, 0
    if pushed != -1:
        stack[0], depth = pushed, 1
    for _ in range(MOST_OPERATIONS_RUN):
        if cursor[0] < 0 or depth < 0 or depth >= MOST_STACK - 1:
            return _UNKNOWN
        if cursor[0] >= end:
            return stack[depth - 1] if depth > 0 else _UNKNOWN
        code = int(octets[cursor[0]])
        cursor[0] += 1
        if 0x30 <= code < 0x50:
            stack[depth], depth = number(code - 0x30), depth + 1
        elif 0x70 <= code < 0x90 or code == 0x92:
            dwarf = code - 0x70 if code != 0x92 else leb(octets, cursor, end, False)
            distance = leb(octets, cursor, end, True)
            register = kept_register(dwarf, machine)
            value = state[register] if register >= 0 else _UNKNOWN
            if machine == X86_64 and dwarf == _PC:
                value = number(pc)
            stack[depth], depth = added(value, distance), depth + 1
        elif 0x08 <= code < 0x12 or code == 0x03:
            stack[depth], depth = number(constant(octets, code, cursor, end)), depth + 1
        elif code == 0x12 and depth > 0:
            stack[depth], depth = stack[depth - 1], depth + 1
        elif code == 0x13:
            depth -= 1
        elif code == 0x23 and depth > 0:
            stack[depth - 1] = added(stack[depth - 1], leb(octets, cursor, end, False))
        elif code == 0x06 and depth > 0:
            value = stack[depth - 1]
            kind = value >> KIND
            stack[depth - 1] = word_at(state, value) if kind == PLACE else value if kind == CALLERS else _UNKNOWN
        elif 0x1A <= code < 0x2F and depth > 1:
            depth -= 1
            stack[depth - 1] = combined(code, stack[depth - 1], stack[depth])
        elif code != 0x96:
            return _UNKNOWN
    return _UNKNOWN


@compiled(inline=True)
def constant(octets: Any, code: Any, cursor: Any, end: Any) -> Any:
    """The constant of a DWARF operation; the cursor goes on behind it, or becomes -1 at the end of the expression."""
    if code >= 0x10:
        return leb(octets, cursor, end, code == 0x11)
    size = 8 if code == 0x03 else 1 << ((code - 0x08) >> 1)
    if cursor[0] + size > end:
        cursor[0] = -1
        return 0
    value = signed_number(octets, cursor[0], size)
    cursor[0] += size
    return value & ((1 << (8 * size)) - 1) if size < 8 and code & 1 == 0 else value


@compiled(inline=True)
def combined(code: Any, one: Any, other: Any) -> Any:
    """What an operation of two values gives."""
    if code == 0x22:
        return summed(one, other, 1)
    if code == 0x1C:
        return summed(one, other, -1)
    if code == 0x1A and other >> KIND == NUMBER and low(other) < 0 and is_frame(one):
        return rounded(one, low(other))
    if one >> KIND != NUMBER or other >> KIND != NUMBER:
        return _UNKNOWN
    first, second = low(one), low(other)
    value = 0
    if code == 0x1A:
        value = first & second
    elif code == 0x21:
        value = first | second
    elif code == 0x24:
        value = first << (second & 31)
    elif code == 0x25:
        value = first >> (second & 31)
    elif code == 0x2A:
        value = 1 if first >= second else 0
    elif code == 0x2B:
        value = 1 if first > second else 0
    elif code == 0x2C:
        value = 1 if first <= second else 0
    elif code == 0x2D:
        value = 1 if first < second else 0
    else:
        return _UNKNOWN
    return number(value)
