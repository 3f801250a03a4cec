"""A Thumb instruction (T32): its length, flow, target and operations (Arm ARM, chapter F3).

An IT block is one instruction: all that it holds may not happen. Where it ends with a return or a branch, what it holds
happens on the way there, and not on the other one.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.arm32 import (
    ADDING,
    AND,
    BIC,
    CMN,
    CMP,
    LINK,
    MOV,
    MVN,
    PC,
    RSB,
    SP,
    SUB,
    TST,
    by_register,
    clobber,
    coprocessor,
    many,
    moved_transfer,
    perhaps,
    perhaps_called,
    rotated,
    system_call,
    transfer,
    vector_data,
    vector_elements,
    with_number,
    with_register,
)
from testbed.sweep.native.codes import (
    ADD,
    AWAY,
    BRANCH,
    CALL,
    CALL_AWAY,
    CONSTANT,
    COPY,
    EQUAL,
    INSERT,
    JUMP,
    NEXT,
    NOTHING,
    PERHAPS,
    RETURN,
    STOP,
    STORE,
    emit,
    signed_number,
    with_sign,
)

_EOR, _ADC, _SBC, _ORR, _TEQ = 1, 5, 6, 12, 9


@compiled()
def decode_thumb(code: Any, at: Any, end: Any, pc: Any, operations: Any) -> Any:
    """Length 0 where no instruction is at a place."""
    if at + 2 > end:
        return 0, 0, 0, 0
    half = signed_number(code, at, 2) & 0xFFFF
    if half >> 8 != 0xBF or half & 15 == 0:
        return one_thumb(code, at, end, pc, operations, 0)
    size = 4
    for k in range(3):
        if half >> k & 1 and size == 4:
            size = 4 - k
    size = 1 if half & 7 == 0 else size
    length, count, flow, target = 2, 0, NEXT, 0
    is_same, first = True, half >> 4 & 1
    for k in range(size):
        each, flow, target, count = one_thumb(code, at + length, end, pc + length, operations, count)
        if each == 0:
            return 0, 0, 0, 0
        length += each
        is_same = is_same and (k == 0 or half >> (4 - k) & 1 == first)
    if flow in (CALL, CALL_AWAY):
        perhaps(operations, 0, count)
        return length, NEXT, 0, perhaps_called(operations, count)
    if flow != NEXT and flow != NOTHING and is_same:
        is_jump = flow == JUMP and count == 0
        if is_jump or flow in (RETURN, AWAY):
            return length, BRANCH if is_jump else flow + PERHAPS, target, count
    perhaps(operations, 0, count)
    return length, BRANCH if flow == JUMP else NEXT, target, count


@compiled()
def one_thumb(code: Any, at: Any, end: Any, pc: Any, operations: Any, count: Any) -> Any:
    """One instruction, its operations behind ``count`` others."""
    if at + 2 > end:
        return 0, 0, 0, 0
    half = signed_number(code, at, 2) & 0xFFFF
    if half >> 11 < 29:
        flow, target, count = short(half, code, at, end, pc, operations, count)
        return 2, flow, target, count
    if at + 4 > end:
        return 0, 0, 0, 0
    flow, target, count = wide(half, signed_number(code, at + 2, 2) & 0xFFFF, code, at, end, pc, operations, count)
    return 4, flow, target, count


@compiled()
def literal(register: Any, at: Any, distance: Any, code: Any, end: Any, operations: Any, count: Any) -> Any:
    """A number that stands in the code, at a distance."""
    if not 0 <= at + distance <= end - 4:
        return clobber(register, operations, count)
    return emit(operations, count, CONSTANT, register, signed_number(code, at + distance, 4), distance, 0)


@compiled()
def short(half: Any, code: Any, at: Any, end: Any, pc: Any, operations: Any, count: Any) -> Any:
    """An instruction of 16 bits: flow, target, operations."""
    group, low, middle, high = half >> 12, half & 7, half >> 3 & 7, half >> 8 & 7
    if group < 4:
        return NEXT, 0, short_data(half, operations, count)
    if group == 4:
        if half >> 10 & 3 == 0:
            opcode = half >> 6 & 15
            if opcode == 10:
                count = with_register(CMP, 0, low, middle, True, operations, count)
            elif opcode != 8 and opcode != 11:
                count = clobber(low, operations, count)
            return NEXT, 0, count
        if half >> 10 & 3 == 1:
            return special(half, operations, count)
        return NEXT, 0, literal(high, at, 4 - (pc & 2) + 4 * (half & 255), code, end, operations, count)
    if group == 5:
        kind = half >> 9 & 7
        size = 4 if kind & 3 == 0 else 2 if kind == 1 or kind == 5 or kind == 7 else 1
        return NEXT, 0, by_register(kind > 2, low, middle, half >> 6 & 7, size, operations, count)
    if group < 9:
        size = 4 if group == 6 else 1 if group == 7 else 2
        distance = (half >> 6 & 31) * size
        return NEXT, 0, transfer(half >> 11 & 1, low, middle, distance, size, 0, operations, count)
    if group == 9:
        return NEXT, 0, transfer(half >> 11 & 1, high, SP, 4 * (half & 255), 4, 0, operations, count)
    if group == 10:
        if half >> 11 & 1:
            return NEXT, 0, emit(operations, count, ADD, high, SP, 4 * (half & 255), 0)
        return NEXT, 0, clobber(high, operations, count)
    if group == 11:
        return short_miscellaneous(half, pc, operations, count)
    if group == 12:
        is_load = half >> 11 & 1
        moves = not is_load or half >> high & 1 == 0
        return NEXT, 0, many(is_load, half & 255, high, 1, moves, operations, count)
    if group == 13:
        condition = half >> 8 & 15
        if condition == 14:
            return STOP, 0, count
        if condition == 15:
            return NEXT, 0, system_call(operations, count)
        if condition < 2:
            count = emit(operations, count, EQUAL, -1, 1 - condition, 0, 0)
        return BRANCH, pc + 4 + 2 * with_sign(half & 255, 8), count
    return JUMP, pc + 4 + 2 * with_sign(half & 0x7FF, 11), count


@compiled()
def short_data(half: Any, operations: Any, count: Any) -> Any:
    """Shifts, additions, and operations with a number of 8 bits."""
    low, middle, high, value = half & 7, half >> 3 & 7, half >> 8 & 7, half & 255
    if half >> 13 & 1:
        kind = half >> 11 & 3
        opcode = MOV if kind == 0 else CMP if kind == 1 else ADDING if kind == 2 else SUB
        return with_number(opcode, high, high, value, operations, count)
    if half >> 11 & 3 == 3:
        opcode, other = SUB if half >> 9 & 1 else ADDING, half >> 6 & 7
        if half >> 10 & 1:
            return with_number(opcode, low, middle, other, operations, count)
        return with_register(opcode, low, middle, other, True, operations, count)
    if half >> 6 == 0:
        return emit(operations, count, COPY, low, middle, 0, 0)
    return clobber(low, operations, count)


@compiled()
def special(half: Any, operations: Any, count: Any) -> Any:
    """Data of all registers, branches to registers."""
    kind, to, other = half >> 8 & 3, half & 7 | half >> 4 & 8, half >> 3 & 15
    if kind == 3:
        if half >> 7 & 1:
            return CALL_AWAY, 0, count
        return (RETURN if other == LINK else AWAY), 0, count
    if to == PC and kind != 1:
        return (RETURN if kind == 2 and other == LINK else AWAY), 0, count
    opcode = ADDING if kind == 0 else CMP if kind == 1 else MOV
    return NEXT, 0, with_register(opcode, to, to, other, True, operations, count)


@compiled()
def short_miscellaneous(half: Any, pc: Any, operations: Any, count: Any) -> Any:
    """Lists on the stack, branches on zero, extension, hints."""
    kind, low = half >> 8 & 15, half & 7
    if kind & 5 == 1:
        distance = half >> 3 & 31 | (half >> 9 & 1) << 5
        return BRANCH, pc + 4 + 2 * distance, count
    if kind == 0:
        distance = 4 * (half & 127)
        return NEXT, 0, emit(operations, count, ADD, SP, SP, -distance if half >> 7 & 1 else distance, 0)
    if kind == 4 or kind == 5:
        registers = half & 255 | (half >> 8 & 1) << LINK
        return NEXT, 0, many(False, registers, SP, 2, True, operations, count)
    if kind == 12 or kind == 13:
        registers = half & 255 | (half >> 8 & 1) << PC
        return (RETURN if half >> 8 & 1 else NEXT), 0, many(True, registers, SP, 1, True, operations, count)
    if kind == 14 or (kind == 10 and half >> 6 & 3 == 2):
        return STOP, 0, count
    if kind == 15:
        return (NOTHING if half & 255 == 0 else NEXT), 0, count
    if kind == 2 or kind == 10:
        return NEXT, 0, clobber(low, operations, count)
    return NEXT, 0, count


@compiled()
def wide(half: Any, other: Any, code: Any, at: Any, end: Any, pc: Any, operations: Any, count: Any) -> Any:
    """An instruction of 32 bits: flow, target, operations."""
    group = half >> 11 & 3
    if group == 2:
        if other >> 15:
            return branches(half, other, pc, operations, count)
        return NEXT, 0, wide_number(half, other, operations, count)
    word = half << 16 | other
    if half >> 10 & 1:
        return NEXT, 0, vector_data(word, operations) if half >> 8 & 3 == 3 else coprocessor(word, operations)
    if group == 1:
        if half >> 9 & 1:
            return NEXT, 0, wide_registers(half, other, operations, count)
        if half >> 6 & 1:
            return dual_or_exclusive(half, other, operations, count)
        is_load, which = half >> 4 & 1, half >> 7 & 3
        if which == 0 or which == 3:
            return (STOP if is_load else NEXT), 0, count
        flow = RETURN if is_load and other >> PC else NEXT
        count = many(is_load, other, half & 15, which, half >> 5 & 1, operations, count)
        return flow, 0, count
    kind, to = half >> 4 & 127, other >> 8 & 15
    if kind >> 5 == 0:
        if kind >> 4 & 1 and kind & 1 == 0:
            return NEXT, 0, vector_elements(word, operations)
        return wide_transfer(half, other, code, at, end, pc, operations, count)
    count = clobber(to, operations, count)
    if kind & 0x78 == 0x38 and kind & 13 != 9:
        count = clobber(other >> 12, operations, count)
    return NEXT, 0, count


@compiled()
def opcode_of(kind: Any, source: Any, is_test: Any) -> Any:
    """A32's number of a data operation of 32 bits; -1 of one that A32 has elsewhere."""
    if kind == 0:
        return TST if is_test else AND
    if kind == 1:
        return BIC
    if kind == 2:
        return MOV if source == PC else _ORR
    if kind == 3:
        return MVN if source == PC else _ORR
    if kind == 4:
        return _TEQ if is_test else _EOR
    if kind == 8:
        return CMN if is_test else ADDING
    if kind == 10:
        return _ADC
    if kind == 11:
        return _SBC
    if kind == 13:
        return CMP if is_test else SUB
    return RSB if kind == 14 else _ORR


@compiled()
def wide_number(half: Any, other: Any, operations: Any, count: Any) -> Any:
    """Data processing with a number."""
    to, source = other >> 8 & 15, half & 15
    encoded = (half >> 10 & 1) << 11 | (other >> 12 & 7) << 8 | other & 255
    if half >> 9 & 1 == 0:
        opcode = opcode_of(half >> 5 & 15, source, to == PC and half >> 4 & 1)
        return with_number(opcode, to, source, expanded(encoded), operations, count)
    kind = half >> 4 & 31
    if kind == 0 or kind == 10:
        return with_number(ADDING if kind == 0 else SUB, to, source, encoded, operations, count)
    if kind == 4:
        return emit(operations, count, CONSTANT, to, source << 12 | encoded, 0, 0)
    if kind == 12:
        return emit(operations, count, INSERT, to, source << 12 | encoded, 16, 0)
    return clobber(to, operations, count)


@compiled()
def expanded(encoded: Any) -> Any:
    """The number that 12 bits stand for: a byte, repeated or rotated."""
    value = encoded & 255
    if encoded >> 10:
        return rotated(value & 127 | 128, encoded >> 7)
    which = encoded >> 8 & 3
    if which == 1:
        return value << 16 | value
    if which == 2:
        return with_sign(value << 24 | value << 8, 32)
    return value if which == 0 else with_sign(value << 24 | value << 16 | value << 8 | value, 32)


@compiled()
def wide_registers(half: Any, other: Any, operations: Any, count: Any) -> Any:
    """Data processing with a register that may be shifted."""
    to, source = other >> 8 & 15, half & 15
    opcode = opcode_of(half >> 5 & 15, source, to == PC and half >> 4 & 1)
    is_whole = other >> 4 & 15 == 0 and other >> 12 & 7 == 0
    return with_register(opcode, to, source, other & 15, is_whole, operations, count)


@compiled()
def dual_or_exclusive(half: Any, other: Any, operations: Any, count: Any) -> Any:
    """LDRD and STRD, exclusive and ordered transfers, branches by a table."""
    base, first, second = half & 15, other >> 12, other >> 8 & 15
    before, is_up, moves, is_load = half >> 8 & 1, half >> 7 & 1, half >> 5 & 1, half >> 4 & 1
    if before or moves:
        distance = 4 * (other & 255) * (1 if is_up else -1)
        if before and moves:
            count = emit(operations, count, ADD, base, base, distance, 0)
        at = distance if before and not moves else 0
        if is_load and first == base:
            count = transfer(is_load, second, base, at + 4, 4, 0, operations, count)
            return NEXT, 0, transfer(is_load, first, base, at, 4, 0, operations, count)
        count = transfer(is_load, first, base, at, 4, 0, operations, count)
        move = distance if moves and not before else 0
        return NEXT, 0, transfer(is_load, second, base, at + 4, 4, move, operations, count)
    kind = other >> 4 & 15
    if is_up and is_load and kind < 2:
        return AWAY, 0, count
    is_pair = is_up and kind & 3 == 3
    if is_load:
        count = clobber(first, operations, count)
        return NEXT, 0, clobber(second, operations, count) if is_pair else count
    if not is_up:
        count = clobber(second, operations, count)
    elif kind & 12 == 4 or kind & 12 == 12:
        count = clobber(other & 15, operations, count)
    return NEXT, 0, emit(operations, count, STORE, -1, base, 0, 8 if is_pair else 4)


@compiled()
def wide_transfer(half: Any, other: Any, code: Any, at: Any, end: Any, pc: Any, operations: Any, count: Any) -> Any:
    """LDR, STR and those of bytes and halves."""
    register, base, is_load = other >> 12, half & 15, half >> 4 & 1
    size = 1 << (half >> 5 & 3)
    if is_load and register == PC and size < 4:
        return NEXT, 0, count  # a hint to fetch
    if base == PC:
        distance = (other & 0xFFF) * (1 if half >> 7 & 1 else -1)
        if register == PC:
            return AWAY, 0, count
        if size < 4:
            return NEXT, 0, clobber(register, operations, count)
        return NEXT, 0, literal(register, at, 4 - (pc & 2) + distance, code, end, operations, count)
    if half >> 7 & 1:
        flow = AWAY if is_load and register == PC else NEXT
        return flow, 0, transfer(is_load, register, base, other & 0xFFF, size, 0, operations, count)
    if other >> 11 & 1 == 0:
        flow = AWAY if is_load and register == PC else NEXT
        return flow, 0, by_register(is_load, register, base, other & 15, size, operations, count)
    distance = (other & 255) * (1 if other >> 9 & 1 else -1)
    mode = (other >> 10 & 1) << 1 | other >> 8 & 1
    flow = NEXT
    if is_load and register == PC:
        flow = RETURN if base == SP and mode == 0 else AWAY
    return flow, 0, moved_transfer(is_load, register, base, distance, size, mode, operations, count)


@compiled()
def branches(half: Any, other: Any, pc: Any, operations: Any, count: Any) -> Any:
    """Branches, status registers, hints, what goes to the system."""
    sign, one, two = half >> 10 & 1, other >> 13 & 1, other >> 11 & 1
    if other >> 12 & 1 == 0 and other >> 14 & 1 == 0:
        condition = half >> 6 & 15
        if condition < 14:
            distance = sign << 20 | two << 19 | one << 18 | (half & 63) << 12 | (other & 0x7FF) << 1
            if condition < 2:
                count = emit(operations, count, EQUAL, -1, 1 - condition, 0, 0)
            return BRANCH, pc + 4 + with_sign(distance, 21), count
        kind = half >> 4 & 127
        if kind == 0x3A:
            return (NOTHING if other & 255 == 0 else NEXT), 0, count
        if kind == 0x3E or kind == 0x3F:
            return NEXT, 0, clobber(other >> 8 & 15, operations, count)
        return (STOP if kind == 0x3D or kind == 0x7F else NEXT), 0, count
    first, second = 1 - (one ^ sign), 1 - (two ^ sign)
    distance = sign << 24 | first << 23 | second << 22 | (half & 0x3FF) << 12 | (other & 0x7FF) << 1
    target = pc + 4 + with_sign(distance, 25)
    if other >> 14 & 1 == 0:
        return JUMP, target, count
    return CALL, target if other >> 12 & 1 else target & ~3, count
