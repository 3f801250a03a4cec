"""An A32 instruction: its flow, target and operations (Arm ARM, chapter F4).

What has a condition may not happen: see `perhaps`. A return or a jump to an unknown place that may not happen has its
flow and `PERHAPS`.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.arm32 import (
    LINK,
    MOV,
    PC,
    SP,
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
    EQUAL,
    HIDE,
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

_ALWAYS, _NO_CONDITION = 14, 15


@compiled()
def decode_a32(code: Any, at: Any, end: Any, pc: Any, operations: Any) -> Any:
    """Length 0 where no instruction is at a place."""
    if at + 4 > end:
        return 0, 0, 0, 0
    word = signed_number(code, at, 4) & 0xFFFF_FFFF
    condition, group = word >> 28, word >> 25 & 7
    if condition == _NO_CONDITION:
        return unconditional(word, pc, operations)
    if group == 5:
        target = pc + 8 + 4 * with_sign(word & 0xFF_FFFF, 24)
        if word >> 24 & 1:
            return (4, CALL, target, 0) if condition == _ALWAYS else (4, NEXT, 0, perhaps_called(operations, 0))
        if condition == _ALWAYS:
            return 4, JUMP, target, 0
        count = emit(operations, 0, EQUAL, -1, 1 - condition, 0, 0) if condition < 2 else 0
        return 4, BRANCH, target, count
    flow, count = conditional(word, group, code, at, end, operations)
    if condition == _ALWAYS or flow == STOP:
        return 4, flow, 0, count
    if flow == CALL_AWAY:
        return 4, NEXT, 0, perhaps_called(operations, 0)
    if flow in (RETURN, AWAY):
        return 4, flow + PERHAPS, 0, count
    perhaps(operations, 0, count)
    return 4, NEXT, 0, count


@compiled()
def unconditional(word: Any, pc: Any, operations: Any) -> Any:
    """Instructions that have no condition."""
    if word >> 25 & 7 == 5:
        return 4, CALL, pc + 8 + 4 * with_sign(word & 0xFF_FFFF, 24) + 2 * (word >> 24 & 1), 0
    top = word >> 24
    if top == 0xF2 or top == 0xF3:
        return 4, NEXT, 0, vector_data(word, operations)
    if top == 0xF4 and word >> 20 & 1 == 0:
        return 4, NEXT, 0, vector_elements(word, operations)
    if word >> 25 & 7 == 4:
        return 4, STOP, 0, 0
    if top >= 0xFC:
        return 4, NEXT, 0, coprocessor(word, operations)
    return 4, NEXT, 0, 0


@compiled()
def conditional(word: Any, group: Any, code: Any, at: Any, end: Any, operations: Any) -> Any:
    """The flow of an instruction, and how many operations it has."""
    register, base = word >> 12 & 15, word >> 16 & 15
    if group == 0:
        if word & 0x90 == 0x90:
            return multiply_or_extra(word, operations)
        if word >> 23 & 3 == 2 and word >> 20 & 1 == 0:
            return miscellaneous(word, operations)
        return data(word, operations)
    if group == 1:
        if word >> 23 & 3 == 2 and word >> 20 & 1 == 0:
            value = base << 12 | word & 0xFFF
            if word >> 21 & 1:
                return (NOTHING if word & 0xF_FFFF == 0xF000 else NEXT), 0
            if word >> 22 & 1:
                return NEXT, emit(operations, 0, INSERT, register, value, 16, 0)
            return NEXT, emit(operations, 0, CONSTANT, register, value, 0, 0)
        return data(word, operations)
    if group == 2 or (group == 3 and word >> 4 & 1 == 0):
        return single_transfer(word, code, at, end, operations)
    if group == 3:
        return media(word, operations)
    if group == 4:
        return list_transfer(word, operations)
    if group == 7 and word >> 24 & 1:
        return NEXT, system_call(operations, 0)
    return NEXT, coprocessor(word, operations)


@compiled()
def data(word: Any, operations: Any) -> Any:
    """Data processing: of a register and a number, or of two registers."""
    opcode, to, source = word >> 21 & 15, word >> 12 & 15, word >> 16 & 15
    if TST <= opcode < 12:
        to = 0
    is_return = opcode == MOV and word & 0xFFF == LINK and word >> 25 & 1 == 0
    if to == PC:
        return (RETURN if is_return else AWAY), 0
    if word >> 25 & 1:
        return NEXT, with_number(opcode, to, source, rotated(word & 255, 2 * (word >> 8 & 15)), operations, 0)
    return NEXT, with_register(opcode, to, source, word & 15, word >> 4 & 255 == 0, operations, 0)


@compiled()
def multiply_or_extra(word: Any, operations: Any) -> Any:
    """Multiplication, exclusive and ordered transfers, and transfers of halves and pairs."""
    register, base, kind = word >> 12 & 15, word >> 16 & 15, word >> 5 & 3
    if kind == 0:
        if word >> 24 & 1 == 0:
            count = clobber(base, operations, 0)
            is_long = word >> 23 & 1 or word >> 20 & 15 == 4
            return NEXT, clobber(register, operations, count) if is_long else count
        if word >> 23 & 1 == 0:
            return NEXT, clobber(register, operations, 0)  # swp
        is_pair = word >> 21 & 3 == 1
        if word >> 20 & 1:
            count = clobber(register, operations, 0)
            return NEXT, clobber(register + 1, operations, count) if is_pair and register < 14 else count
        is_status = word >> 8 & 3 != 0  # a store that tells whether it was done
        count = clobber(register, operations, 0) if is_status else 0
        return NEXT, emit(operations, count, STORE, -1, base, 0, 8 if is_pair else 4)
    is_load, is_pair = word >> 20 & 1 or kind == 2, word >> 20 & 1 == 0 and kind > 1
    mode, sign = (word >> 24 & 1) << 1 | word >> 21 & 1, 1 if word >> 23 & 1 else -1
    size = 4 if is_pair else 2 if kind != 2 else 1
    if word >> 22 & 1 == 0:
        count = by_register(is_load, register, base, word & 15, size, operations, 0)
        if is_pair:
            count = by_register(is_load, register + 1, base, word & 15, size, operations, count)
        return NEXT, clobber(base, operations, count) if mode != 2 else count
    distance = sign * (word >> 4 & 0xF0 | word & 15)
    if not is_pair:
        return NEXT, moved_transfer(is_load, register, base, distance, size, mode, operations, 0)
    count = 0
    if mode == 3:
        count = emit(operations, count, ADD, base, base, distance, 0)
    at = distance if mode == 2 else 0
    count = transfer(is_load, register, base, at, 4, 0, operations, count)
    move = distance if mode == 0 else 0
    return NEXT, transfer(is_load, register + 1, base, at + 4, 4, move, operations, count)


@compiled()
def miscellaneous(word: Any, operations: Any) -> Any:
    """Branches to registers, status registers, counting zeros, saturating and halfword arithmetic."""
    which, kind, to = word >> 21 & 3, word >> 4 & 7, word >> 12 & 15
    if word >> 7 & 1:
        count = clobber(word >> 16 & 15, operations, 0)
        return NEXT, clobber(to, operations, count) if which == 2 else count
    if kind == 0:
        return NEXT, 0 if which & 1 else clobber(to, operations, 0)
    if which == 1 and kind < 4:
        if kind == 3:
            return CALL_AWAY, 0
        return (RETURN if word & 15 == LINK else AWAY), 0
    if kind == 7 or kind == 6:
        return STOP, 0
    return NEXT, clobber(to, operations, 0)


@compiled()
def single_transfer(word: Any, code: Any, at: Any, end: Any, operations: Any) -> Any:
    """LDR, STR and those of bytes: at a number, or a register, from the base."""
    register, base, is_load = word >> 12 & 15, word >> 16 & 15, word >> 20 & 1
    mode, sign = (word >> 24 & 1) << 1 | word >> 21 & 1, 1 if word >> 23 & 1 else -1
    mode = 0 if mode == 1 else mode
    size = 1 if word >> 22 & 1 else 4
    distance = sign * (word & 0xFFF)
    flow = NEXT
    if is_load and register == PC:
        flow = RETURN if base == SP and mode == 0 else AWAY
    if word >> 25 & 1:
        count = by_register(is_load, register, base, word & 15, size, operations, 0)
        return flow, clobber(base, operations, count) if mode != 2 else count
    if base == PC and is_load and register != PC and size == 4 and 0 <= at + 8 + distance <= end - 4:
        value = signed_number(code, at + 8 + distance, 4)
        return NEXT, emit(operations, 0, CONSTANT, register, value, 8 + distance, 0)
    return flow, moved_transfer(is_load, register, base, distance, size, mode, operations, 0)


@compiled()
def media(word: Any, operations: Any) -> Any:
    """Parallel arithmetic, packing, signed multiplication and division, bit fields."""
    kind, high, low = word >> 20 & 31, word >> 16 & 15, word >> 12 & 15
    if kind == 31 and word >> 5 & 7 == 7:
        return STOP, 0
    if kind & 24 == 16 or kind == 24:
        count = clobber(high, operations, 0)
        return NEXT, clobber(low, operations, count) if kind == 20 else count
    return NEXT, clobber(low, operations, 0)


@compiled()
def list_transfer(word: Any, operations: Any) -> Any:
    """LDM and STM; of another mode's registers nothing is known."""
    registers, base, is_load = word & 0xFFFF, word >> 16 & 15, word >> 20 & 1
    mode = (word >> 24 & 1) << 1 | word >> 23 & 1
    flow = RETURN if is_load and registers >> PC else NEXT
    if word >> 22 & 1:
        count = 0
        for k in range(13):
            if is_load and registers >> k & 1:
                count = emit(operations, count, HIDE, k, 0, 0, 0)
        return (STOP if flow == RETURN else NEXT), count
    return flow, many(is_load, registers, base, mode, word >> 21 & 1, operations, 0)
