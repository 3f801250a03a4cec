"""An arm64 instruction: its flow, target and operations.

Source: Arm Architecture Reference Manual for A-profile architecture, chapter C4 (A64 instruction set encoding), which
gives the groups their names.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    ADD,
    ADD_TWO,
    ALIGN,
    AWAY,
    BRANCH,
    CALL,
    CALL_AWAY,
    CLOBBER,
    COMPARE,
    CONSTANT,
    COPY,
    EQUAL,
    HIDE,
    INSERT,
    JUMP,
    KERNEL,
    LOAD,
    NEXT,
    NOTHING,
    RETURN,
    SIGN,
    SPILL,
    STOP,
    STORE,
    emit,
    with_sign,
)

SP, ZERO, LINK = 31, 31, 30
_FIRST_KEPT_VECTOR, _KEPT_VECTORS = 32, 8  # v8 to v15


@compiled()
def decode_arm64(code: Any, at: Any, end: Any, pc: Any, operations: Any) -> Any:
    """Length 0 where no instruction is at a place."""
    if at + 4 > end:
        return 0, 0, 0, 0
    word = int(code[at]) | int(code[at + 1]) << 8 | int(code[at + 2]) << 16 | int(code[at + 3]) << 24
    group = word >> 25 & 15
    if group & 0b1110 == 0b1000:
        return 4, NEXT, 0, immediate_data(word, operations)
    if group & 0b1110 == 0b1010:
        flow, target, count = branches(word, pc, operations)
        return 4, flow, target, count
    if group & 0b0101 == 0b0100:
        return 4, NEXT, 0, loads_and_stores(word, operations)
    if group & 0b0111 == 0b0101:
        return 4, NEXT, 0, register_data(word, operations)
    if group & 0b0111 == 0b0111:
        return 4, NEXT, 0, floating_point(word, operations)
    if group == 0b0010:
        return 4, NEXT, 0, scalable(word, operations)
    if word >> 16 == 0:
        return 4, STOP, 0, 0
    return (4, NEXT, 0, 0) if group == 0 and word >> 31 else (0, 0, 0, 0)


@compiled(inline=True)
def clobber(register: Any, operations: Any, count: Any) -> Any:
    """Add that a register gets an unknown value; nothing for the zero register."""
    return count if register == ZERO else emit(operations, count, CLOBBER, register, 0, 0, 0)


@compiled(inline=True)
def vector(register: Any) -> Any:
    """The number of a vector register whose lower half calls preserve, or -1."""
    return register - 8 + _FIRST_KEPT_VECTOR if 8 <= register < 8 + _KEPT_VECTORS else -1


@compiled()
def bit_mask(word: Any) -> Any:
    """The number that a logical instruction of 64 bits says."""
    rotated, ones = word >> 16 & 63, word >> 10 & 63
    size = 64 if word >> 22 & 1 else 0
    if size == 0:
        for k in range(5, 0, -1):
            if ones >> k & 1 == 0:
                size = 1 << k
                break
    if size == 0:
        return 0
    ones, rotated = (ones & size - 1) + 1, rotated & size - 1
    value = 0
    for k in range(64):
        if (k + rotated) % size < ones:
            value |= 1 << k if k < 63 else -(1 << 63)
    return value


@compiled()
def immediate_data(word: Any, operations: Any) -> Any:
    """Data processing, immediate."""
    to, source, kind = word & 31, word >> 5 & 31, word >> 23 & 7
    wide = word >> 31
    if kind == 2:
        distance = (word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)
        sets_flags = word >> 29 & 1
        if sets_flags and to == ZERO:
            return 0
        if not wide:
            return emit(operations, 0, CLOBBER, to, 0, 0, 0)
        return emit(operations, 0, ADD, to, source, -distance if word >> 30 & 1 else distance, 0)
    if kind == 4:
        which = word >> 29 & 3
        if to != SP or which == 3:
            return clobber(to, operations, 0)
        if which == 0 and wide:
            return emit(operations, 0, ALIGN, to, source, bit_mask(word), 0)
        return emit(operations, 0, HIDE, to, 0, 0, 0)
    if kind == 5:
        value, place = word >> 5 & 0xFFFF, (word >> 21 & 3) << 4
        which = word >> 29 & 3
        if to == ZERO:
            return 0
        if which == 3:
            return emit(operations, 0, INSERT if wide else CLOBBER, to, value, place, 0)
        if place >= 48:
            return emit(operations, 0, CLOBBER, to, 0, 0, 0)
        value <<= place
        if which == 0:
            value = ~value if wide else ~value & 0xFFFF_FFFF
        return emit(operations, 0, CONSTANT, to, value, 0, 0)
    if kind == 3 and word >> 22 & 1 == 0:
        return emit(operations, 0, HIDE, to, 0, 0, 0)
    return clobber(to, operations, 0)


@compiled()
def branches(word: Any, pc: Any, operations: Any) -> Any:
    """Branches, exceptions, system instructions."""
    top = word >> 29 & 7
    if top & 3 == 0:
        target = pc + 4 * with_sign(word & 0x3FF_FFFF, 26)
        return (CALL if word >> 31 else JUMP), target, 0
    if top & 3 == 1:
        if word >> 25 & 1:
            return BRANCH, pc + 4 * with_sign(word >> 5 & 0x3FFF, 14), 0
        return BRANCH, pc + 4 * with_sign(word >> 5 & 0x7_FFFF, 19), 0
    if top == 2:
        target, condition = pc + 4 * with_sign(word >> 5 & 0x7_FFFF, 19), word & 15
        if condition >= 14:
            return JUMP, target, 0
        count = emit(operations, 0, EQUAL, -1, 1 - condition, 0, 0) if condition < 2 else 0
        return BRANCH, target, count
    if word >> 24 == 0xD4:
        if word >> 21 & 7 == 0:
            count = emit(operations, 0, KERNEL, 8, 220, 435, 0)
            return NEXT, 0, emit(operations, count, CLOBBER, 0, 0, 0, 0)
        return STOP, 0, 0
    if word >> 24 == 0xD5:
        return system(word, operations)
    which = word >> 21 & 7
    if which == 0:
        return AWAY, 0, 0
    if which == 1:
        return CALL_AWAY, 0, 0
    return (RETURN if which == 2 else STOP), 0, 0


@compiled(inline=True)
def system(word: Any, operations: Any) -> Any:
    """What a system instruction does: hints that sign or check LR, barriers, and reads into a register."""
    if word & 0xFFFF_F01F == 0xD503_201F:
        hint = word >> 5 & 127
        if hint == 25 or hint == 27 or hint == 24 or hint == 26:
            return NEXT, 0, emit(operations, 0, SIGN, LINK, 1, 0, 0)
        if hint == 29 or hint == 31 or hint == 28 or hint == 30 or hint == 7:
            return NEXT, 0, emit(operations, 0, SIGN, LINK, 0, 0, 0)
        if hint == 8 or hint == 10 or hint == 12 or hint == 14:
            return NEXT, 0, emit(operations, 0, HIDE, 17, 0, 0, 0)
        return (NOTHING if hint == 0 else NEXT), 0, 0
    if word >> 21 & 1 and word & 31 != ZERO:
        return NEXT, 0, emit(operations, 0, CLOBBER, word & 31, 0, 0, 0)
    return NEXT, 0, 0


@compiled(inline=True)
def transfer(
    is_load: Any, register: Any, is_vector: Any, base: Any, distance: Any, size: Any, operations: Any, count: Any
) -> Any:
    """One register to or from memory."""
    own = vector(register) if is_vector else -1 if register == ZERO else register
    if is_load:
        if own < 0:
            return count
        if size < 8:
            return emit(operations, count, CLOBBER, own, 0, 0, 0)
        return emit(operations, count, LOAD, own, base, distance, 8)
    if size <= 8:
        return emit(operations, count, STORE, own if size == 8 else -1, base, distance, size)
    count = emit(operations, count, STORE, own, base, distance, 8)
    return emit(operations, count, STORE, -1, base, distance + 8, 8)


@compiled()
def loads_and_stores(word: Any, operations: Any) -> Any:
    """What a load or a store does to registers and to the stack."""
    kind, is_vector = word >> 28 & 3, word >> 26 & 1
    register, base = word & 31, word >> 5 & 31
    if kind == 2:
        return pairs(word, operations)
    if kind == 3:
        return singles(word, operations)
    if kind == 0:
        if is_vector:
            return vector_structures(word, operations)
        return exclusives(word, operations)
    if word >> 24 & 1 == 0:  # literal; size 3 of general registers is a prefetch
        if is_vector:
            own = vector(register)
            return emit(operations, 0, CLOBBER, own, 0, 0, 0) if own >= 0 else 0
        return 0 if word >> 30 == 3 else clobber(register, operations, 0)
    if is_vector or word >> 10 & 3 == 1:  # memory copy and set: three registers move on
        count = clobber(register, operations, 0)
        count = clobber(base, operations, count)
        return clobber(word >> 16 & 31, operations, count)
    if word >> 22 & 3 != 0:
        return clobber(register, operations, 0)
    size = 1 << (word >> 30)
    return transfer(False, register, False, base, with_sign(word >> 12 & 511, 9), size, operations, 0)


@compiled()
def pairs(word: Any, operations: Any) -> Any:
    """What a load or a store of two registers does (LDP, STP and their forms)."""
    is_vector, mode, is_load = word >> 26 & 1, word >> 23 & 3, word >> 22 & 1
    first, second, base = word & 31, word >> 10 & 31, word >> 5 & 31
    which = word >> 30
    size = 4 << which if is_vector else 8 if which == 2 else 4
    distance, count = with_sign(word >> 15 & 127, 7) * size, 0
    if which == 1 and not is_vector and not is_load:
        distance *= 4  # stgp
        size = 8
    moves = distance if mode == 1 or mode == 3 else 0
    if mode == 3:
        count = emit(operations, count, ADD, base, base, moves, 0)
    if mode == 1 or mode == 3:
        distance = 0
    if is_load and first == base and not is_vector:  # the base is loaded last
        first, second, distance, size = second, first, distance + size, -size
    count = transfer(is_load, first, is_vector, base, distance, abs(size), operations, count)
    count = transfer(is_load, second, is_vector, base, distance + size, abs(size), operations, count)
    if mode == 1:
        count = emit(operations, count, ADD, base, base, moves, 0)
    return count


@compiled()
def singles(word: Any, operations: Any) -> Any:
    """Loads and stores of one register, atomic operations."""
    is_vector, which = word >> 26 & 1, word >> 22 & 3
    register, base = word & 31, word >> 5 & 31
    size = 1 << (word >> 30)
    is_load = which != 0
    if is_vector:
        size, is_load = (16 if which & 2 else size), which & 1 != 0
    elif which == 2 and word >> 30 == 3:
        return 0  # prefetch
    elif which >= 2:
        size = 4  # what is extended is no whole register
    if word >> 24 & 1:
        return transfer(is_load, register, is_vector, base, (word >> 10 & 0xFFF) * size, size, operations, 0)
    mode = word >> 10 & 3
    if word >> 21 & 1:
        if mode == 0:
            return clobber(register, operations, 0)  # atomic
        if mode & 1:
            count = emit(operations, 0, HIDE, base, 0, 0, 0) if word >> 11 & 1 else 0
            return clobber(register, operations, count)
        if is_load:
            own = vector(register) if is_vector else -1 if register == ZERO else register
            return emit(operations, 0, LOAD if size >= 8 else CLOBBER, own, base, 0, 0) if own >= 0 else 0
        own = vector(register) if is_vector else -1 if register == ZERO else register
        return emit(operations, 0, SPILL, own, base, word >> 16 & 31, 0) if own >= 0 and size == 8 else 0
    distance, count = with_sign(word >> 12 & 511, 9), 0
    if mode == 3:
        count = emit(operations, count, ADD, base, base, distance, 0)
    count = transfer(is_load, register, is_vector, base, 0 if mode & 1 else distance, size, operations, count)
    if mode == 1:
        count = emit(operations, count, ADD, base, base, distance, 0)
    return count


@compiled()
def exclusives(word: Any, operations: Any) -> Any:
    """Exclusive and ordered loads and stores, compare and swap."""
    first, second, status, base = word & 31, word >> 10 & 31, word >> 16 & 31, word >> 5 & 31
    is_load, ordered, is_pair = word >> 22 & 1, word >> 23 & 1, word >> 21 & 1
    if ordered and is_pair:  # cas
        return clobber(status, operations, 0)
    if is_pair and word >> 31 == 0:  # casp
        count = clobber(status, operations, 0)
        return clobber(status + 1, operations, count) if status < 30 else count
    if is_load:
        count = clobber(first, operations, 0)
        return clobber(second, operations, count) if is_pair and second != first else count
    count = 0 if ordered else clobber(status, operations, 0)
    size = (1 << (word >> 30)) << is_pair
    return emit(operations, count, STORE, -1, base, 0, size)


@compiled()
def vector_structures(word: Any, operations: Any) -> Any:
    """Vectors of several registers; 'post' moves the base on."""
    register, base, step = word & 31, word >> 5 & 31, word >> 16 & 31
    quad = 16 if word >> 30 & 1 else 8
    opcode, is_multiple = word >> 12 & 15, word >> 24 & 1 == 0
    if is_multiple:
        number = 4 if opcode == 0 or opcode == 2 else 3 if opcode == 4 or opcode == 6 else 1 if opcode == 7 else 2
        whole = number * quad
    else:
        number = 1 + (word >> 21 & 1) + 2 * (word >> 13 & 1)
        scale = word >> 14 & 3
        each = 1 << scale if scale < 2 else 8 if word >> 10 & 1 else 4
        if scale == 3:
            each = 1 << (word >> 10 & 3)
        whole = number * each
    count = 0
    if word >> 22 & 1:
        for k in range(number):
            own = vector((register + k) & 31)
            if own >= 0:
                count = emit(operations, count, HIDE, own, 0, 0, 0)
    else:
        is_whole = is_multiple and opcode != 0 and opcode != 4 and opcode != 8
        for k in range(number):
            own = vector((register + k) & 31) if is_whole else -1
            part = whole // number
            count = emit(operations, count, STORE, own if part >= 8 else -1, base, k * part, min(part, 8))
    if word >> 23 & 1:
        if step == 31:
            return emit(operations, count, ADD, base, base, whole, 0)
        return emit(operations, count, HIDE if base == SP else CLOBBER, base, 0, 0, 0)
    return count


@compiled()
def register_data(word: Any, operations: Any) -> Any:
    """Data processing, register."""
    to, source, other, wide = word & 31, word >> 5 & 31, word >> 16 & 31, word >> 31
    which = word >> 21 & 15
    if word >> 28 & 1:
        if which == 2 or (which == 0 and word >> 10 & 63 != 0):
            return 0
        if which == 6 and word >> 30 & 1 and other == 1 and to == LINK:
            opcode = word >> 10 & 63
            return emit(operations, 0, SIGN, LINK, 1 if opcode & 4 == 0 and opcode < 16 else 0, 0, 0)
        return clobber(to, operations, 0)
    if which & 8 == 0:
        is_move = word >> 29 & 3 == 1 and word >> 21 & 1 == 0 and word >> 10 & 63 == 0 and word >> 22 & 3 == 0
        if wide and is_move and source == ZERO and to != ZERO:
            if other == ZERO:
                return emit(operations, 0, CONSTANT, to, 0, 0, 0)
            return emit(operations, 0, COPY, to, other, 0, 0)
        return clobber(to, operations, 0)
    sets_flags, sign = word >> 29 & 1, -1 if word >> 30 & 1 else 1
    if word >> 21 & 1:
        is_plain = wide and word >> 10 & 7 == 0 and word >> 13 & 3 == 3 and other != ZERO
        if sets_flags and to == ZERO:
            return emit(operations, 0, COMPARE, source, other, 0, 0) if is_plain and sign < 0 else 0
        if sets_flags and to != ZERO:
            return emit(operations, 0, CLOBBER, to, 0, 0, 0)
        return emit(operations, 0, ADD_TWO, to, source, other if is_plain else -1, sign)
    is_plain = wide and word >> 10 & 63 == 0 and source != ZERO and other != ZERO
    if to == ZERO:
        return emit(operations, 0, COMPARE, source, other, 0, 0) if is_plain and sign < 0 and sets_flags else 0
    if is_plain:
        return emit(operations, 0, ADD_TWO, to, source, other, sign)
    return emit(operations, 0, CLOBBER, to, 0, 0, 0)


@compiled()
def floating_point(word: Any, operations: Any) -> Any:
    """Scalar floating point and Advanced SIMD."""
    to, own = word & 31, vector(word & 31)
    if word & 0x5F20_FC00 == 0x1E20_0000:
        opcode = word >> 16 & 7
        if opcode < 2 or 4 <= opcode < 7:
            if opcode == 6 and to != ZERO:
                return emit(operations, 0, HIDE, to, 0, 0, 0)
            return clobber(to, operations, 0)
        count = emit(operations, 0, SPILL, word >> 5 & 31, -1, -1, 0) if opcode == 7 else 0
        return emit(operations, count, HIDE if opcode == 7 else CLOBBER, own, 0, 0, 0) if own >= 0 else count
    if word & 0xFFE0_FC00 == 0x4E00_1C00:  # ins: a general register in a part of a vector
        count = emit(operations, 0, SPILL, word >> 5 & 31, -1, -1, 0)
        return emit(operations, count, HIDE, own, 0, 0, 0) if own >= 0 else count
    if word & 0x5F20_0000 == 0x1E00_0000 and word >> 24 & 0x7F == 0x1E and word >> 16 & 7 < 2:
        return clobber(to, operations, 0)
    if word & 0xBFE0_FC00 == 0x0E00_2C00 or word & 0xBFE0_FC00 == 0x0E00_3C00:
        if to == ZERO:
            return 0
        return emit(operations, 0, HIDE if word >> 30 & 1 else CLOBBER, to, 0, 0, 0)
    if word & 0xFF20_3C00 == 0x1E20_2000 or word & 0xFF20_0C00 == 0x1E20_0400:
        return 0
    if own < 0:
        return 0
    if word & 0xFFFF_FC00 == 0x1E60_4000:
        source = vector(word >> 5 & 31)
        return emit(operations, 0, COPY if source >= 0 else HIDE, own, max(source, 0), 0, 0)
    return emit(operations, 0, CLOBBER, own, 0, 0, 0)


@compiled()
def scalable(word: Any, operations: Any) -> Any:
    """SVE: what writes general registers, and where a vector may be one whose half calls preserve."""
    to, top = word & 31, word >> 24
    if top == 0x04 and word >> 21 & 1 and word >> 12 & 15 == 5:  # addvl, addpl, rdvl
        return emit(operations, 0, HIDE, to, 0, 0, 0) if word >> 23 & 1 == 0 or to != ZERO else 0
    if top == 0x04 and word >> 21 & 1 and word >> 13 & 7 == 7:  # cnt, inc, dec
        return clobber(to, operations, 0)
    is_last = top == 0x05 and (word & 0x3E_E000 == 0x20_A000 or word & 0x3E_E000 == 0x30_A000)
    is_count = top == 0x25 and (word & 0x38_C000 == 0x20_8000 or word & 0x38_F000 == 0x28_8000)
    if is_last or is_count:
        return clobber(to, operations, 0)
    own = vector(to)
    if own < 0 or top >= 0xE0 or top == 0x85:
        return 0
    return emit(operations, 0, HIDE, own, 0, 0, 0)
