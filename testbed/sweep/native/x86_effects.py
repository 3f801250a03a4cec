"""What an x86_64 instruction does to the general registers, the stack and the flow of control.

A part of a register that is written is all of it, and so is its lower half: what was there is not there any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    ADD,
    ADD_TWO,
    ALIGN,
    ANY_VALUE,
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
    JUMP,
    KERNEL,
    LOAD,
    NEXT,
    NOTHING,
    RETURN,
    SPILL,
    STOP,
    STORE,
    emit,
)
from testbed.sweep.native.x86_fields import (
    BASE,
    DISPLACEMENT,
    FAR,
    IMMEDIATE,
    INDEX,
    LEGACY,
    LENGTH,
    MAP,
    MOD,
    NARROW,
    OPCODE,
    OTHER_REGISTER,
    REG,
    REPEAT,
    REX,
    RM,
    SCALED,
    SHORT,
    VECTOR,
    VEX,
    WIDE,
)

# DWARF numbers by those of the processor.
DWARF = np.array([0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15], np.int64)
RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R11 = 0, 1, 2, 3, 4, 5, 6, 7, 11
_SIXTEEN = 16

# One letter an opcode: what is written. r: the register of ModRM, m: register or memory of ModRM, b: both, v: VEX.vvvv,
# x: a vector to memory (a general register is none), h: what comes out of a vector register, .: no general register, or
# it is told below.
_ONE = (
    "mmrr...." * 7 + "........"  # 00 to 3f
    + "." * 32  # 40 to 5f
    + "...r.....r.r...." + "." * 16  # 60 to 7f
    + "......bbmmrrm..." + "." * 16  # 80 to 9f
    + "." * 32 + "mm....mm........" + "mmmm............" + "." * 16 + "..............m."
)  # fmt: skip
_TWO = (
    "..rr............" + ".x.x...x........"  # 00 to 1f
    + "mm.......x.xrr.." + "." * 16 + "r" * 16  # 20 to 4f
    + "r..............." + "." * 16 + "..............hx" + "." * 16 + "m" * 16  # 50 to 9f
    + "....mm.....mmm.r" + "..rmrrrrr.mmrrrr"  # a0 to bf
    + "bb.x.r.........." + "......xr........" + ".......x........" + "." * 16
)  # fmt: skip
# How many bytes x87 instructions store, by opcode from d8 on and by the register of ModRM.
X87_STORES = np.array(
    [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 4, 4, 0, 0, 28, 2],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 4, 4, 4, 0, 0, 0, 10],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 8, 8, 8, 0, 0, 108, 2],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 2, 2, 2, 0, 0, 10, 8],
    ],
    np.int64,
)
WRITTEN_ONE = np.frombuffer(_ONE.encode(), np.uint8)
WRITTEN_TWO = np.frombuffer(_TWO.encode(), np.uint8)
_R, _M, _B, _X, _H = (ord(c) for c in "rmbxh")


@compiled()
def effects(fields: Any, pc: Any, operations: Any) -> Any:
    """The flow, target and number of operations of an instruction that was taken apart."""
    if fields[VEX] != LEGACY:
        return NEXT, 0, vector_effects(fields, operations)
    if fields[MAP] == 1:
        return two_bytes(fields, pc, operations)
    if fields[MAP] != 0:
        return NEXT, 0, three_bytes(fields, operations)
    opcode = fields[OPCODE]
    if opcode < 0x40:
        return NEXT, 0, arithmetic(fields, opcode >> 3, operations)
    if opcode < 0x62:
        return NEXT, 0, push_or_pop(fields, operations)
    if opcode >= 0xC0 or 0x70 <= opcode < 0x80:
        return control(fields, pc, operations)
    if opcode == 0x90 and fields[REX] & 1 == 0:
        return NOTHING, 0, 0
    return NEXT, 0, moves(fields, operations)


@compiled(inline=True)
def register(fields: Any, which: Any) -> Any:
    """A general register by its place in the fields; with a byte operand and no REX, 4 to 7 are parts of 0 to 3."""
    value = fields[which]
    if (
        fields[REX] == 0
        and 4 <= value < 8
        and fields[MAP] == 0
        and fields[OPCODE] & 1 == 0
        and (fields[OPCODE] < 0x40 or (fields[OPCODE] >= 0x80 and fields[OPCODE] != 0x8C))
    ):
        value -= 4
    return int(DWARF[value])


@compiled(inline=True)
def address_base(fields: Any) -> Any:
    """The register that an address counts from; -1 where it counts from none, or from more."""
    if fields[BASE] < 0 or fields[INDEX] >= 0 or fields[FAR] or fields[NARROW]:
        return -1
    return int(DWARF[fields[BASE]])


@compiled(inline=True)
def to_operand(fields: Any, source: Any, size: Any, operations: Any, count: Any) -> Any:
    """A value goes to the register or memory of ModRM; ``source`` -1: a value of its own."""
    if fields[MOD] == 3:
        target = register(fields, RM)
        if source >= 0 and size == 8:
            return emit(operations, count, COPY, target, source, 0, 0)
        return emit(operations, count, CLOBBER, target, 0, 0, 0)
    base = address_base(fields)
    if base < 0:
        if (source < 0 and source != ANY_VALUE) or size != 8 or fields[INDEX] < 0:
            return count
        near = int(DWARF[fields[BASE]]) if fields[BASE] >= 0 else -1
        return emit(operations, count, SPILL, source, near, int(DWARF[fields[INDEX]]), 0)
    return emit(operations, count, STORE, source if size == 8 else -1, base, displacement(fields, size), size)


@compiled(inline=True)
def displacement(fields: Any, size: Any) -> Any:
    """The displacement of an operand in bytes; EVEX counts one byte of it in operand sizes."""
    return fields[DISPLACEMENT] * (size if fields[SCALED] else 1)


@compiled(inline=True)
def operand_size(fields: Any) -> Any:
    """The size of an integer operand in bytes, by opcode and prefixes."""
    if fields[OPCODE] & 1 == 0:
        return 1
    return 8 if fields[WIDE] else 2 if fields[SHORT] else 4


@compiled()
def arithmetic(fields: Any, operation: Any, operations: Any) -> Any:
    """add, or, adc, sbb, and, sub, xor, cmp."""
    form = fields[OPCODE] & 7
    if form >= 6:
        return 0
    if form >= 4:
        return 0 if operation == 7 else emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
    size = operand_size(fields)
    if operation == 7:
        if fields[MOD] == 3 and size == 8:
            return emit(operations, 0, COMPARE, register(fields, RM), register(fields, REG), 0, 0)
        return 0
    if form < 2 and fields[MOD] != 3:
        return to_operand(fields, -1, size, operations, 0)
    target = register(fields, RM if form < 2 else REG)
    source = -1 if fields[MOD] != 3 else register(fields, REG if form < 2 else RM)
    if size == 8 and source >= 0 and (operation == 0 or operation == 5):
        return emit(operations, 0, ADD_TWO, target, target, source, 1 if operation == 0 else -1)
    if operation == 6 and source == target and size >= 4:
        return emit(operations, 0, CONSTANT, target, 0, 0, 0)
    return emit(operations, 0, CLOBBER, target, 0, 0, 0)


@compiled(inline=True)
def push(source: Any, operations: Any, count: Any) -> Any:
    """Add what a push does: SP goes down by 8, then the register is stored there."""
    count = emit(operations, count, ADD, RSP, RSP, -8, 0)
    return emit(operations, count, STORE, source, RSP, 0, 8)


@compiled(inline=True)
def pop(target: Any, operations: Any) -> Any:
    """Add what a pop does: the register is loaded, and SP goes up by 8."""
    count = emit(operations, 0, ADD, RSP, RSP, 8, 0)
    if target == RSP:
        return emit(operations, count, HIDE, RSP, 0, 0, 0)
    return count if target < 0 else emit(operations, count, LOAD, target, RSP, -8, 8)


@compiled()
def push_or_pop(fields: Any, operations: Any) -> Any:
    """What PUSH or POP of a register does (50 to 5F)."""
    opcode = fields[OPCODE]
    which = int(DWARF[opcode & 7 | (fields[REX] & 1) << 3])
    if opcode >= 0x58:
        return pop(which, operations)
    if which == RSP:  # what is pushed is SP as it was before
        count = emit(operations, 0, STORE, RSP, RSP, -8, 8)
        return emit(operations, count, ADD, RSP, RSP, -8, 0)
    return push(which, operations, 0)


@compiled()
def moves(fields: Any, operations: Any) -> Any:
    """Opcodes 62 to bf, but for jumps."""
    opcode = fields[OPCODE]
    size = operand_size(fields)
    if opcode == 0x68 or opcode == 0x6A:
        return push(-1, operations, 0)
    if 0x80 <= opcode < 0x84:
        return immediate_arithmetic(fields, operations)
    if opcode == 0x86 or opcode == 0x87:
        return exchange(fields, size, operations)
    if opcode == 0x88 or opcode == 0x89:
        return to_operand(fields, register(fields, REG), size, operations, 0)
    if opcode == 0x8B and size == 8:
        if fields[MOD] == 3:
            return emit(operations, 0, COPY, register(fields, REG), register(fields, RM), 0, 0)
        base = address_base(fields)
        if fields[INDEX] >= 0 and fields[BASE] >= 0:  # somewhere near the base
            return emit(operations, 0, LOAD, register(fields, REG), int(DWARF[fields[BASE]]), 0, 0)
        return emit(operations, 0, LOAD, register(fields, REG), base, fields[DISPLACEMENT], 8)
    if opcode == 0x8D:
        base = address_base(fields)
        if size == 8 and base >= 0:
            return emit(operations, 0, ADD, register(fields, REG), base, fields[DISPLACEMENT], 0)
        if size == 8 and fields[BASE] >= 0 and fields[INDEX] >= 0:
            return emit(operations, 0, ADD_TWO, register(fields, REG), int(DWARF[fields[BASE]]), -1, 1)
        is_near = fields[MOD] == 0 and fields[RM] & 7 == 5
        return emit(operations, 0, CLOBBER, register(fields, REG), fields[DISPLACEMENT], 0, 1 if is_near else 0)
    if opcode == 0x8F:
        count = pop(-1, operations)
        return to_operand(fields, ANY_VALUE, 8, operations, count)
    if opcode >= 0x90:
        return implied(fields, operations)
    return written(fields, int(WRITTEN_ONE[opcode]), size, operations)


@compiled(inline=True)
def written(fields: Any, letter: Any, size: Any, operations: Any) -> Any:
    """What a letter of the tables says."""
    if letter == _R:
        return emit(operations, 0, CLOBBER, register(fields, REG), 0, 0, 0)
    if letter == _M:
        return to_operand(fields, -1, size, operations, 0)
    if letter == _B:
        count = emit(operations, 0, CLOBBER, register(fields, REG), 0, 0, 0)
        return to_operand(fields, -1, size, operations, count)
    if letter == _X and fields[MOD] != 3:
        return to_operand(fields, -1, size, operations, 0)
    return 0


@compiled()
def immediate_arithmetic(fields: Any, operations: Any) -> Any:
    """What arithmetic with an immediate does (80 to 83): SP and other registers move by a known number."""
    size, operation, value = operand_size(fields), fields[REG] & 7, fields[IMMEDIATE]
    if operation == 7:
        return 0
    if fields[MOD] != 3:
        if value == 0 and (operation == 0 or operation == 1 or operation == 5 or operation == 6):
            return 0  # as `lock or $0, (%rsp)`, which is a fence
        return to_operand(fields, -1, size, operations, 0)
    target = register(fields, RM)
    if size == 8 and (operation == 0 or operation == 5):
        return emit(operations, 0, ADD, target, target, value if operation == 0 else -value, 0)
    if size == 8 and operation == 4:
        return emit(operations, 0, ALIGN, target, target, value, 0)
    return emit(operations, 0, CLOBBER, target, 0, 0, 0)


@compiled()
def exchange(fields: Any, size: Any, operations: Any) -> Any:
    """What XCHG does: two registers, or a register and memory."""
    one = register(fields, REG)
    if fields[MOD] == 3 and size == 8:
        two = register(fields, RM)
        count = emit(operations, 0, COPY, _SIXTEEN + 1, one, 0, 0)
        count = emit(operations, count, COPY, one, two, 0, 0)
        return emit(operations, count, COPY, two, _SIXTEEN + 1, 0, 0)
    if fields[MOD] == 3:
        count = emit(operations, 0, CLOBBER, one, 0, 0, 0)
        return emit(operations, count, CLOBBER, register(fields, RM), 0, 0, 0)
    base = address_base(fields)
    count = 0
    if base >= 0 and size == 8:
        count = emit(operations, count, LOAD, _SIXTEEN + 1, base, fields[DISPLACEMENT], 8)
        count = emit(operations, count, STORE, one, base, fields[DISPLACEMENT], 8)
        return emit(operations, count, COPY, one, _SIXTEEN + 1, 0, 0)
    count = to_operand(fields, -1, size, operations, count)
    return emit(operations, count, CLOBBER, one, 0, 0, 0)


@compiled()
def implied(fields: Any, operations: Any) -> Any:
    """Opcodes 90 to bf: registers that the opcode itself names."""
    opcode = fields[OPCODE]
    if opcode < 0x98:
        which = int(DWARF[opcode & 7 | (fields[REX] & 1) << 3])
        if not fields[WIDE]:
            count = emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
            return emit(operations, count, CLOBBER, which, 0, 0, 0)
        count = emit(operations, 0, COPY, _SIXTEEN + 1, RAX, 0, 0)
        count = emit(operations, count, COPY, RAX, which, 0, 0)
        return emit(operations, count, COPY, which, _SIXTEEN + 1, 0, 0)
    if opcode >= 0xB0:
        which = opcode & 7 | (fields[REX] & 1) << 3
        if opcode < 0xB8 and fields[REX] == 0 and which >= 4:
            which -= 4
        if opcode >= 0xB8 and not fields[SHORT]:
            value = fields[IMMEDIATE] if fields[WIDE] else fields[IMMEDIATE] & 0xFFFF_FFFF
            return emit(operations, 0, CONSTANT, int(DWARF[which]), value, 0, 0)
        return emit(operations, 0, CLOBBER, int(DWARF[which]), 0, 0, 0)
    if opcode == 0x9C:
        return push(-1, operations, 0)
    if opcode == 0x9D:
        return pop(-1, operations)
    count = 0
    if opcode == 0x98 or opcode == 0x9F or opcode == 0xA0 or opcode == 0xA1 or opcode == 0xAC or opcode == 0xAD:
        count = emit(operations, count, CLOBBER, RAX, 0, 0, 0)
    if opcode == 0x99:
        count = emit(operations, count, CLOBBER, RDX, 0, 0, 0)
    if opcode == 0xA5 or (opcode == 0xAB and fields[REPEAT]):
        count = emit(operations, count, SPILL, RAX if opcode == 0xAB else ANY_VALUE, RDI, -1, 0)
    elif opcode == 0xAB and fields[WIDE]:
        count = emit(operations, count, STORE, RAX, RDI, 0, 8)
    if 0xA4 <= opcode < 0xB0 and opcode != 0xA8 and opcode != 0xA9:
        if opcode < 0xA8 or opcode == 0xAC or opcode == 0xAD:
            count = emit(operations, count, CLOBBER, RSI, 0, 0, 0)
        if opcode != 0xAC and opcode != 0xAD:
            count = emit(operations, count, CLOBBER, RDI, 0, 0, 0)
        if fields[REPEAT]:
            count = emit(operations, count, CLOBBER, RCX, 0, 0, 0)
    return count


@compiled(inline=True)
def equality(opcode: Any, operations: Any) -> Any:
    """What je and jne say of registers that were compared."""
    if opcode & 0x0E != 4:
        return 0
    return emit(operations, 0, EQUAL, -1, 1 - (opcode & 1), 0, 0)


@compiled()
def control(fields: Any, pc: Any, operations: Any) -> Any:
    """Opcodes c0 to ff and 70 to 7f."""
    opcode = fields[OPCODE]
    following = pc + fields[LENGTH]
    target = following + fields[IMMEDIATE]
    if opcode < 0x80:
        return BRANCH, target, equality(opcode, operations)
    if opcode == 0xC2 or opcode == 0xC3:
        return RETURN, fields[IMMEDIATE], 0
    if opcode == 0xC9:
        count = emit(operations, 0, ADD, RSP, RBP, 8, 0)
        return NEXT, 0, emit(operations, count, LOAD, RBP, RSP, -8, 8)
    if opcode == 0xC8:
        count = push(RBP, operations, 0)
        count = emit(operations, count, COPY, RBP, RSP, 0, 0)
        return NEXT, 0, emit(operations, count, ADD, RSP, RSP, -(fields[IMMEDIATE] & 0xFFFF), 0)
    if opcode == 0xCC or opcode == 0xF4 or opcode == 0xF1 or 0xCA <= opcode < 0xD0:
        return (STOP if opcode != 0xCD else NEXT), 0, 0
    if 0xE0 <= opcode < 0xE4:
        count = 0 if opcode == 0xE3 else emit(operations, 0, CLOBBER, RCX, 0, 0, 0)
        return BRANCH, target, count
    if opcode == 0xE8:
        return CALL, target, 0
    if opcode == 0xE9 or opcode == 0xEB:
        return JUMP, target, 0
    if opcode == 0xFF:
        return group_five(fields, operations)
    if opcode == 0xC7 and fields[MOD] == 3 and fields[REG] & 7 == 7:
        return BRANCH, target, emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
    return NEXT, 0, others(fields, operations)


@compiled(inline=True)
def group_five(fields: Any, operations: Any) -> Any:
    """What opcode FF does: INC, DEC, indirect calls and jumps, PUSH of memory."""
    which = fields[REG] & 7
    if which == 2 or which == 3:
        return CALL_AWAY, 0, 0
    if which == 4 or which == 5:
        return AWAY, 0, 0
    if which == 6:
        if fields[MOD] == 3:
            return NEXT, 0, push(int(DWARF[fields[RM]]), operations, 0)
        count = emit(operations, 0, LOAD, _SIXTEEN + 1, address_base(fields), fields[DISPLACEMENT], 8)
        return NEXT, 0, push(_SIXTEEN + 1, operations, count)
    if which < 2 and fields[MOD] == 3 and fields[WIDE]:
        target = register(fields, RM)
        return NEXT, 0, emit(operations, 0, ADD, target, target, 1 - 2 * which, 0)
    return NEXT, 0, to_operand(fields, -1, operand_size(fields), operations, 0)


@compiled()
def others(fields: Any, operations: Any) -> Any:
    """Shifts, moves of numbers, x87, multiplications."""
    opcode, size = fields[OPCODE], operand_size(fields)
    which = fields[REG] & 7
    if 0xD8 <= opcode < 0xE0:
        if opcode == 0xDF and fields[MOD] == 3 and which == 4:
            return emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
        size = int(X87_STORES[opcode - 0xD8, which])
        return to_operand(fields, -1, size, operations, 0) if size and fields[MOD] != 3 else 0
    if (opcode == 0xF6 or opcode == 0xF7) and which >= 4:
        count = emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
        return count if opcode == 0xF6 else emit(operations, count, CLOBBER, RDX, 0, 0, 0)
    if (opcode == 0xF6 or opcode == 0xF7) and which < 2:
        return 0
    if opcode == 0xE4 or opcode == 0xE5 or opcode == 0xEC or opcode == 0xED or opcode == 0xD7:
        return emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
    if opcode == 0xC7 and fields[MOD] == 3 and size == 8:
        return emit(operations, 0, CONSTANT, register(fields, RM), fields[IMMEDIATE], 0, 0)
    if opcode == 0xF6 or opcode == 0xF7:
        return to_operand(fields, -1, size, operations, 0)
    return written(fields, int(WRITTEN_ONE[opcode]), size, operations)


@compiled()
def two_bytes(fields: Any, pc: Any, operations: Any) -> Any:
    """Opcodes 0f 00 to 0f ff."""
    opcode, which = fields[OPCODE], fields[REG] & 7
    if 0x80 <= opcode < 0x90:
        return BRANCH, pc + fields[LENGTH] + fields[IMMEDIATE], equality(opcode, operations)
    if opcode == 0x0B or opcode == 0xB9 or opcode == 0xFF:
        return STOP, 0, 0
    if opcode == 0x1F or (opcode == 0x1E and not fields[REPEAT]):
        return NOTHING, 0, 0
    if opcode == 0x1E:
        if fields[MOD] == 3 and which == 1:
            return NEXT, 0, emit(operations, 0, CLOBBER, int(DWARF[fields[RM]]), 0, 0, 0)
        return NEXT, 0, 0
    if opcode == 0xA2 or opcode == 0x05 or opcode == 0x01 or 0x30 <= opcode < 0x36:
        return NEXT, 0, system_effects(fields, operations)
    if opcode == 0xA0 or opcode == 0xA8:
        return NEXT, 0, push(-1, operations, 0)
    if opcode == 0xA1 or opcode == 0xA9:
        return NEXT, 0, pop(-1, operations)
    if 0xC8 <= opcode < 0xD0:
        return NEXT, 0, emit(operations, 0, CLOBBER, int(DWARF[opcode & 7 | (fields[REX] & 1) << 3]), 0, 0, 0)
    if opcode == 0xB0 or opcode == 0xB1:
        count = emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
        return NEXT, 0, to_operand(fields, -1, operand_size(fields), operations, count)
    if opcode == 0xBA and which == 4:
        return NEXT, 0, 0
    if opcode == 0xAE and (fields[MOD] == 3 and not (fields[REPEAT] == 0xF3 and which < 2)):
        return NEXT, 0, 0
    if opcode == 0xAE and fields[MOD] != 3:
        is_save = which == 0 or which == 4 or which == 6
        return NEXT, 0, to_operand(fields, -1, 512, operations, 0) if is_save else 0
    if opcode == 0xAE:
        return NEXT, 0, emit(operations, 0, CLOBBER, int(DWARF[fields[RM]]), 0, 0, 0)
    if opcode == 0xC7:
        return NEXT, 0, group_nine(fields, operations)
    return NEXT, 0, vector_or_general(fields, operations)


@compiled()
def system_effects(fields: Any, operations: Any) -> Any:
    """What a system instruction overwrites: RAX, and others by its opcode."""
    opcode = fields[OPCODE]
    if opcode == 0x01 and fields[MOD] != 3:
        return to_operand(fields, -1, 2, operations, 0) if fields[REG] & 7 == 4 else 0
    if opcode == 0x30 or opcode == 0x35:
        return 0
    count = emit(operations, 0, KERNEL, RAX, 56, 435, 0) if opcode == 0x05 else 0
    count = emit(operations, count, CLOBBER, RAX, 0, 0, 0)
    if opcode == 0x05:
        count = emit(operations, count, CLOBBER, R11, 0, 0, 0)
    else:
        count = emit(operations, count, CLOBBER, RDX, 0, 0, 0)
    if opcode != 0x31 and opcode != 0x32 and opcode != 0x33:
        count = emit(operations, count, CLOBBER, RCX, 0, 0, 0)
    return emit(operations, count, CLOBBER, RBX, 0, 0, 0) if opcode == 0xA2 else count


@compiled(inline=True)
def group_nine(fields: Any, operations: Any) -> Any:
    """cmpxchg8b and cmpxchg16b, rdrand, rdseed, rdpid, and what saves states."""
    which = fields[REG] & 7
    if fields[MOD] == 3:
        return emit(operations, 0, CLOBBER, int(DWARF[fields[RM]]), 0, 0, 0) if which >= 6 else 0
    if which != 1:
        return 0
    count = emit(operations, 0, CLOBBER, RAX, 0, 0, 0)
    count = emit(operations, count, CLOBBER, RDX, 0, 0, 0)
    return to_operand(fields, -1, 16, operations, count)


@compiled(inline=True)
def vector_size(fields: Any) -> Any:
    """How much of memory a vector's store writes."""
    opcode = fields[OPCODE]
    if opcode == 0x13 or opcode == 0x17 or opcode == 0xD6:
        return 8
    if opcode == 0x7E:
        return 8 if fields[WIDE] else 4
    if opcode == 0x11 and fields[REPEAT]:
        return 4 if fields[REPEAT] == 0xF3 else 8
    if opcode == 0xC3:
        return 8 if fields[WIDE] else 4
    if fields[VEX] != LEGACY:
        return fields[VECTOR]
    return 8 if opcode == 0x7F and not fields[SHORT] and not fields[REPEAT] else 16


@compiled()
def vector_or_general(fields: Any, operations: Any) -> Any:
    """What an opcode writes that is of vectors or of general registers by its prefix."""
    opcode = fields[OPCODE]
    if opcode == 0x6E:  # movq
        return emit(operations, 0, SPILL, register(fields, RM), -1, -1, 0) if fields[WIDE] and fields[MOD] == 3 else 0
    letter = int(WRITTEN_TWO[opcode])
    if opcode == 0x2C or opcode == 0x2D:
        return emit(operations, 0, CLOBBER, int(DWARF[fields[REG]]), 0, 0, 0) if fields[REPEAT] else 0
    if letter == _H:
        if fields[REPEAT] == 0xF3:
            return 0
        if fields[MOD] == 3:
            kind = HIDE if fields[WIDE] else CLOBBER
            return emit(operations, 0, kind, int(DWARF[fields[RM]]), 0, 0, 0)
        return to_operand(fields, -1, vector_size(fields), operations, 0)
    if letter == _X:
        return written(fields, letter, vector_size(fields), operations)
    size = 8 if fields[WIDE] else 2 if fields[SHORT] else 4
    if 0x90 <= opcode < 0xA0:
        size = 1
        if fields[MOD] == 3 and fields[REX] == 0 and fields[RM] >= 4:
            return emit(operations, 0, CLOBBER, int(DWARF[fields[RM] - 4]), 0, 0, 0)
    return written(fields, letter, size, operations)


@compiled()
def three_bytes(fields: Any, operations: Any) -> Any:
    """Opcodes 0f 38 and 0f 3a."""
    opcode = fields[OPCODE]
    if fields[MAP] == 2:
        if opcode == 0xF0 or (opcode == 0xF1 and fields[REPEAT] == 0xF2) or opcode == 0xF6:
            return emit(operations, 0, CLOBBER, int(DWARF[fields[REG]]), 0, 0, 0)
        if opcode == 0xF1 or opcode == 0xF5 or opcode == 0xF9:
            return to_operand(fields, -1, 8 if fields[WIDE] else 4, operations, 0)
        return 0
    if 0x14 <= opcode < 0x18:
        if fields[MOD] == 3 and opcode == 0x16 and fields[WIDE]:
            return emit(operations, 0, HIDE, int(DWARF[fields[RM]]), 0, 0, 0)
        return to_operand(fields, -1, 4 + 4 * fields[WIDE], operations, 0)
    if opcode == 0x61 or opcode == 0x63:
        return emit(operations, 0, CLOBBER, RCX, 0, 0, 0)
    if opcode == 0x22 and fields[WIDE] and fields[MOD] == 3:  # pinsrq
        return emit(operations, 0, SPILL, register(fields, RM), -1, -1, 0)
    return 0


@compiled()
def vector_effects(fields: Any, operations: Any) -> Any:
    """VEX, EVEX and XOP."""
    opcode, which = fields[OPCODE], fields[MAP]
    if which == 3 and (0x14 <= opcode < 0x18 or opcode == 0x61 or opcode == 0x63):
        return three_bytes(fields, operations)
    if which == 3 and (opcode & 0xFD == 0x19 or opcode & 0xFD == 0x39) and fields[MOD] != 3:
        return to_operand(fields, -1, 32 if opcode & 2 else 16, operations, 0)
    general = False
    other = False
    if which == 1:
        general = opcode == 0x50 or opcode == 0xC5 or opcode == 0xD7 or opcode == 0x93
        general = general or (fields[REPEAT] != 0 and (0x2C <= opcode < 0x2E or 0x78 <= opcode < 0x7A))
    elif which == 2 and fields[VEX] == 1:
        general = opcode == 0xF2 or opcode == 0xF5 or opcode == 0xF7 or opcode == 0xF6 or 0xE0 <= opcode < 0xF0
        other = opcode == 0xF3 or (opcode == 0xF6 and fields[REPEAT] == 0xF2)
    elif which == 3:
        general = opcode == 0xF0
    elif which == 5:
        general = (0x2C <= opcode < 0x2E or 0x78 <= opcode < 0x7A) and fields[REPEAT] != 0
    elif which >= 9:
        general, other = opcode == 0x10, opcode == 0x01 or opcode == 0x02
    if general or other:
        count = 0
        if general:
            count = emit(operations, count, CLOBBER, int(DWARF[fields[REG] & 15]), 0, 0, 0)
        if other:
            count = emit(operations, count, CLOBBER, int(DWARF[fields[OTHER_REGISTER]]), 0, 0, 0)
        return count
    if which == 1 and opcode != 0x7E and opcode != 0xC3 and opcode != 0x6E:
        return written(fields, _X if int(WRITTEN_TWO[opcode]) == _X else 0, vector_size(fields), operations)
    return vector_or_general(fields, operations) if which == 1 and opcode != 0xC3 else 0
