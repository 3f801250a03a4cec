"""What A32 and Thumb have in common: data, transfers, lists of registers, coprocessors, what may not happen.

A register is its number, 16 to 31 are s16 to s31, the words of d8 to d15. Data operations have A32's numbers.

Source: Arm Architecture Reference Manual for A-profile architecture, chapters F3 (T32) and F4 (A32), which give the
groups their names.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    ADD,
    ADD_TWO,
    ANY_VALUE,
    CLOBBER,
    COMPARE,
    CONSTANT,
    COPY,
    EQUAL,
    HIDE,
    KERNEL,
    LOAD,
    SPILL,
    STORE,
    emit,
    with_sign,
)

SP, LINK, PC = 13, 14, 15
AND, SUB, RSB, ADDING, TST, CMP, CMN, MOV, BIC, MVN = 0, 2, 3, 4, 8, 10, 11, 13, 14, 15
_FIRST_KEPT, _BEHIND_KEPT = 16, 32  # of the single-precision registers
_SYSTEM_CALL, _CLONE, _CLONE3 = 7, 120, 435


@compiled()
def rotated(value: Any, by: Any) -> Any:
    """A number of 32 bits rotated to the right, with its sign."""
    value = (value >> by | value << (32 - by)) & 0xFFFF_FFFF
    return with_sign(value, 32)


@compiled(inline=True)
def clobber(register: Any, operations: Any, count: Any) -> Any:
    """Add that a register gets an unknown value; SP then begins a stretch of the stack of its own."""
    if register == SP:
        return emit(operations, count, ADD_TWO, SP, SP, -1, 1)
    return emit(operations, count, CLOBBER, register, 0, 0, 0)


@compiled()
def with_number(opcode: Any, to: Any, source: Any, value: Any, operations: Any, count: Any) -> Any:
    """A data operation of a register and a number."""
    if TST <= opcode <= CMN:
        return count
    if opcode in (MOV, MVN):
        return emit(operations, count, CONSTANT, to, value if opcode == MOV else ~value, 0, 0)
    if source != PC and (opcode in (ADDING, SUB)):
        return emit(operations, count, ADD, to, source, value if opcode == ADDING else -value, 0)
    return clobber(to, operations, count)


@compiled()
def with_register(opcode: Any, to: Any, source: Any, other: Any, is_whole: Any, operations: Any, count: Any) -> Any:
    """A data operation of two registers; ``is_whole``: the second one is not shifted."""
    is_whole = is_whole and other != PC
    if opcode == CMP and is_whole and source != PC:
        return emit(operations, count, COMPARE, source, other, 0, 0)
    if TST <= opcode <= CMN:
        return count
    if opcode == MOV and is_whole:
        return emit(operations, count, COPY, to, other, 0, 0)
    if source != PC and (opcode in (ADDING, SUB)):
        sign = 1 if opcode == ADDING else -1
        return emit(operations, count, ADD_TWO, to, source, other if is_whole else -1, sign)
    return clobber(to, operations, count)


@compiled()
def transfer(
    is_load: Any, register: Any, base: Any, distance: Any, size: Any, move: Any, operations: Any, count: Any
) -> Any:
    """Register ``register`` to or from memory; ``move`` is 0, or how far the base moves on behind that.

    Of what is not a whole register, the rest is 0 or a sign.
    """
    if not is_load:
        is_whole = size == 4 and register != PC
        count = emit(operations, count, STORE, register if is_whole else -1, base, distance, size)
    elif register != PC and size == 4 and base != PC:
        count = emit(operations, count, LOAD, register, base, distance, 4)
    elif register != PC:
        count = clobber(register, operations, count)
    return emit(operations, count, ADD, base, base, move, 0) if move else count


@compiled()
def moved_transfer(
    is_load: Any, register: Any, base: Any, distance: Any, size: Any, mode: Any, operations: Any, count: Any
) -> Any:
    """The same by mode: 0 behind which the base moves on, 2 at a distance, 3 which the base moves to first."""
    if mode == 2:
        return transfer(is_load, register, base, distance, size, 0, operations, count)
    if mode == 3:
        count = emit(operations, count, ADD, base, base, distance, 0)
        return transfer(is_load, register, base, 0, size, 0, operations, count)
    return transfer(is_load, register, base, 0, size, distance, operations, count)


@compiled()
def by_register(is_load: Any, register: Any, base: Any, index: Any, size: Any, operations: Any, count: Any) -> Any:
    """A register to or from memory at the sum of two others."""
    if not is_load:
        return emit(operations, count, SPILL, register, base, index, 0) if size == 4 and register != PC else count
    if register == PC:
        return count
    if size == 4 and register != SP and base != PC:
        return emit(operations, count, LOAD, register, base, 0, 0)
    return clobber(register, operations, count)


@compiled()
def many(is_load: Any, registers: Any, base: Any, mode: Any, moves: Any, operations: Any, count: Any) -> Any:
    """LDM and STM; ``mode``: from the base on, 1 upwards, 2 downwards from below it, 3 upwards from above, 0 down."""
    number = 0
    for k in range(16):
        number += registers >> k & 1
    at = 0 if mode == 1 else -4 * number if mode == 2 else 4 if mode == 3 else 4 - 4 * number
    base_at, is_among = at, is_load and registers >> base & 1 != 0
    for k in range(16):
        if registers >> k & 1:
            if k == base and is_load:
                base_at = at  # is loaded last
            else:
                count = transfer(is_load, k, base, at, 4, 0, operations, count)
            at += 4
    if is_among:
        return transfer(True, base, base, base_at, 4, 0, operations, count)
    if not moves:
        return count
    return emit(operations, count, ADD, base, base, 4 * number if mode == 1 or mode == 3 else -4 * number, 0)


@compiled(inline=True)
def single(number: Any) -> Any:
    """The number of a single-precision register whose word calls preserve, or -1."""
    return number if _FIRST_KEPT <= number < _BEHIND_KEPT else -1


@compiled()
def lose_double(number: Any, kind: Any, operations: Any, count: Any) -> Any:
    """Add that both words of a double-precision register get a value that nobody follows, or that may be any."""
    for k in range(2):
        own = single(2 * number + k)
        if own >= 0:
            count = emit(operations, count, kind, own, 0, 0, 0)
    return count


@compiled()
def coprocessor(word: Any, operations: Any) -> Any:
    """Coprocessors, floating point among them: loads and stores, moves to and from registers, data processing."""
    is_float = word >> 9 & 7 == 5
    register, base, is_double = word >> 12 & 15, word >> 16 & 15, word >> 8 & 1
    if word >> 25 & 7 == 6:
        if word >> 21 & 15 == 2:  # two registers at once
            return pair_moved(word, is_float, operations)
        mode, is_up, is_load = word >> 24 & 1, word >> 23 & 1, word >> 20 & 1
        moves, distance = word >> 21 & 1, (word & 255) * 4
        if not is_float:
            step = distance if is_up else -distance
            return emit(operations, 0, ADD, base, base, step, 0) if moves else 0
        first = (register | (word >> 22 & 1) << 4) * 2 if is_double else register * 2 | word >> 22 & 1
        at = distance if is_up else -distance
        words = 2 if is_double else 1
        if not (mode == 1 and not moves):  # VLDM, VSTM
            words = (word & 255) & ~is_double
            at = 0 if is_up and mode == 0 else -distance
        count = 0
        for k in range(words):
            own = single(first + k)
            if is_load and own >= 0:
                count = emit(operations, count, LOAD, own, base, at + 4 * k, 4)
            elif not is_load and (own >= 0 or k == 0):
                count = emit(operations, count, STORE, own, base, at + 4 * k, 4 if own >= 0 else 4 * words)
        if moves:
            count = emit(operations, count, ADD, base, base, distance if is_up else -distance, 0)
        return count
    if word >> 4 & 1:
        return one_moved(word, is_float, operations)
    if not is_float:
        return 0
    is_compare = word >> 23 & 1 and word >> 20 & 3 == 3 and base & 14 == 4 and word >> 6 & 1
    if is_compare:
        return 0
    to = register | (word >> 22 & 1) << 4
    is_converted = word >> 23 & 1 and word >> 20 & 3 == 3 and word >> 6 & 1
    is_narrowed = is_converted and (base == 3 or base == 7 or base & 12 == 12)
    if is_double and not is_narrowed:
        return lose_double(to, CLOBBER, operations, 0)
    count = 0
    for own in (single(register * 2 | word >> 22 & 1), single(2 * to) if is_narrowed else -1):
        if own >= 0:
            count = emit(operations, count, HIDE if is_narrowed else CLOBBER, own, 0, 0, 0)
    return count


@compiled()
def pair_moved(word: Any, is_float: Any, operations: Any) -> Any:
    """Two general registers to or from a coprocessor: MCRR, MRRC, and VMOV of a double or of two singles."""
    one, other, count = word >> 12 & 15, word >> 16 & 15, 0
    low, step = word & 15, word >> 5 & 1
    first = (low | step << 4) * 2 if word >> 8 & 1 else low * 2 | step
    for k in range(2):
        general, own = (one if k == 0 else other), single(first + k) if is_float else -1
        if word >> 20 & 1:
            count = emit(operations, count, COPY if own >= 0 else HIDE, general, max(own, 0), 0, 0)
        elif own >= 0:
            count = emit(operations, count, COPY, own, general, 0, 0)
        else:
            count = emit(operations, count, SPILL, general, -1, -1, 0)
    return count


@compiled()
def one_moved(word: Any, is_float: Any, operations: Any) -> Any:
    """A general register to or from a coprocessor: MCR, MRC, and VMOV of a single or of a part of a vector."""
    general, is_read = word >> 12 & 15, word >> 20 & 1
    is_single = is_float and word >> 8 & 1 == 0 and word >> 21 & 7 == 0
    own = single((word >> 16 & 15) * 2 | word >> 7 & 1) if is_single else -1
    if is_read:
        if general == PC:
            return 0
        return emit(operations, 0, COPY if own >= 0 else HIDE, general, max(own, 0), 0, 0)
    if own >= 0:
        return emit(operations, 0, COPY, own, general, 0, 0)
    count = emit(operations, 0, SPILL, general, -1, -1, 0)
    if is_float and word >> 8 & 1:
        vector = word >> 16 & 15 | (word >> 7 & 1) << 4
        count = lose_double(vector, HIDE, operations, count)
        if word >> 23 & 1 and word >> 21 & 1:
            count = lose_double(vector + 1, HIDE, operations, count)
    return count


@compiled()
def vector_data(word: Any, operations: Any) -> Any:
    """Advanced SIMD, data processing, in A32's form: a double is written, and perhaps the next one too."""
    to = word >> 12 & 15 | (word >> 22 & 1) << 4
    count = lose_double(to, HIDE, operations, 0)
    return lose_double(to + 1, HIDE, operations, count) if to & 1 == 0 else count


@compiled()
def vector_elements(word: Any, operations: Any) -> Any:
    """Advanced SIMD, elements and structures to and from memory, in A32's form."""
    to, base, step = word >> 12 & 15 | (word >> 22 & 1) << 4, word >> 16 & 15, word & 15
    kind, is_load, is_one = word >> 8 & 15, word >> 21 & 1, word >> 23 & 1
    if is_one:
        number = (kind & 3) + 1
        size = number << (kind >> 2)
        if kind >> 2 == 3:
            size = number << (word >> 6 & 3)
    else:
        number = 4 if kind < 4 else 3 if kind < 7 else 1 if kind == 7 else 2
        size = 8 * number
    count, is_plain = 0, not is_one and (kind == 7 or kind == 10 or kind == 6 or kind == 2)
    spread = 1 if is_plain else 2
    for k in range(number * spread if is_load else number):
        if is_load and is_plain:
            for half in range(2):
                own = single(2 * (to + k) + half)
                if own >= 0:
                    count = emit(operations, count, LOAD, own, base, 8 * k + 4 * half, 4)
        elif is_load:
            count = lose_double(to + k, HIDE, operations, count)
        elif is_plain:
            for half in range(2):
                own = single(2 * (to + k) + half)
                count = emit(operations, count, STORE, own, base, 8 * k + 4 * half, 4)
    if not is_load and not is_plain:
        count = emit(operations, count, STORE, -1, base, 0, size)
    if step == SP:
        return emit(operations, count, ADD, base, base, size, 0)
    return clobber(base, operations, count) if step != PC else count


@compiled()
def system_call(operations: Any, count: Any) -> Any:
    """SVC: the kernel gives back r0; behind one that makes a thread perhaps that goes on."""
    count = emit(operations, count, KERNEL, _SYSTEM_CALL, _CLONE, _CLONE3, 0)
    return emit(operations, count, CLOBBER, 0, 0, 0, 0)


@compiled()
def perhaps(operations: Any, first: Any, count: Any) -> None:
    """Make operations ones that may not happen: what they write may be what it was, or what they say."""
    for k in range(first, count):
        kind = operations[k, 0]
        if kind == STORE:
            operations[k, 1] = ANY_VALUE
        elif kind in (COMPARE, EQUAL):
            operations[k, 0], operations[k, 1] = HIDE, -1
        elif kind != SPILL and kind != KERNEL:
            operations[k, 0] = HIDE


@compiled()
def perhaps_called(operations: Any, count: Any) -> Any:
    """A call that may not happen: it may overwrite what calls do not preserve."""
    for register in (0, 1, 2, 3, 12, LINK):
        count = emit(operations, count, HIDE, register, 0, 0, 0)
    return count
