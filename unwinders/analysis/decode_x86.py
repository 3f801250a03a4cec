"""x86-64 instructions as operations of the frame. Source: Intel SDM, volume 2; capstone does the decoding.

Whatever has no line of its own forgets the registers that it writes and the memory operands that it writes to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from capstone import x86

from unwinders.analysis.operations import (
    Call,
    Combine,
    Control,
    Effect,
    Forget,
    Instruction,
    Jump,
    Load,
    MemoryOperand,
    Return,
    Set,
    SetNumber,
    Store,
    SystemCall,
    Trap,
)

# Which x86-64 instructions write to their memory operand, and how many bytes.
#
# Capstone 5 knows the operand's size, with the exceptions below, but says of most SSE, AVX and x87 stores that they
# read it. So a first operand in memory is taken to be written, unless the instruction is one of those that only read
# it. Where a register says how much is stored (by `xsave`, by a repeated `stos`), it counts as a store through an
# address that is not followed. Source: Intel SDM, volume 2.

_ONLY_READ = re.compile(
    r"cmp(?!xchg)|test|push|call|jmp|bt$|i?mul|i?div|out|lods|v?pcmp|nop|prefetch|cl(?:flush|wb|demote)|ptwrite"
    r"|fi?(?:ld|add|sub|mul|div|com)|fbld|frstor|v?ldmxcsr|fxrstor|xrstor|l[gil]dt|ltr|lmsw|ver[rw]|inv|u?comis|fnop|ud"
    r"|wr|rdrand|vmptrld|vmclear|vmxon|incssp|rstorssp|clrssbsy|setssbsy|vgatherpf|vscatterpf|loop|xbegin|xabort|bnd"
)
_WITH_ZERO = frozenset({"or", "xor", "add", "sub"})  # they leave as it is what they are given
_LISTS = re.compile(r"xchg|xadd|mulx")  # more than their first register is written
_BITS = re.compile(r"bt[rsc]")
_SIZES = MappingProxyType(
    {"fxsave": 416, "fxsave64": 416, "fnsave": 108, "fnstenv": 28, "sgdt": 10, "sidt": 10}
    | dict.fromkeys(("sldt", "str", "smsw"), 2)
    | dict.fromkeys((f"xsave{how}{bits}" for how in ("", "c", "s", "opt") for bits in ("", "64")), 0)  # EDX:EAX says
)
_BY_REX = frozenset({"movbe", "movnti"})
_TO_RDI = MappingProxyType({"maskmovq": 8, "maskmovdqu": 16, "vmaskmovdqu": 16})
_TO_FIRST = MappingProxyType({"movdir64b": 64, "enqcmd": 64, "enqcmds": 64})
_ALSO = MappingProxyType({"xlatb": (x86.X86_REG_RAX,), "cmpxchg": (x86.X86_REG_RAX,), "lahf": (x86.X86_REG_RAX,)})


def only_reads(mnemonic: str) -> bool:
    """True for an instruction that does not write to its first operand."""
    return _ONLY_READ.match(mnemonic) is not None


def stored_size(insn: Any, mnemonic: str) -> int:
    """The bytes that an instruction writes to its first operand, which is in memory; 0 if it writes none, or if the
    operand does not say where."""
    if only_reads(mnemonic) or insn.mnemonic.startswith("rep"):
        return 0
    if mnemonic in _WITH_ZERO and insn.operands[1].type == x86.X86_OP_IMM and insn.operands[1].imm == 0:
        return 0  # a probe of the stack: what was read is written back
    if _BITS.fullmatch(mnemonic) and insn.operands[1].type == x86.X86_OP_REG:
        return 0  # the bit may lie anywhere
    if mnemonic in _BY_REX and insn.rex & 8:
        return 8
    return int(_SIZES.get(mnemonic, insn.operands[0].size))


def stored_elsewhere(insn: Any, mnemonic: str) -> tuple[int, int]:
    """A store to the address in a register that is no operand in memory: capstone's number of it, and the bytes."""
    if mnemonic in _TO_FIRST:
        return insn.operands[0].reg, _TO_FIRST[mnemonic]
    return (x86.X86_REG_RDI, _TO_RDI[mnemonic]) if mnemonic in _TO_RDI else (0, 0)


def written_registers(insn: Any, mnemonic: str) -> set[int]:
    """Capstone's numbers of the registers that an instruction writes; too many rather than too few."""
    registers = [operand.reg for operand in insn.operands if operand.type == x86.X86_OP_REG]
    found = {*insn.regs_access()[1], *_ALSO.get(mnemonic, ())}
    if _LISTS.match(mnemonic):
        found |= {*registers}
    elif registers and insn.operands[0].type == x86.X86_OP_REG and not only_reads(mnemonic):
        found.add(registers[0])
    return found


SP, FP, PC, FLAGS = "rsp", "rbp", "rip", "rflags"
WORD = 8

_LEGACY = {"rax": "a", "rbx": "b", "rcx": "c", "rdx": "d"}
_FULL: Mapping[str, str] = MappingProxyType(
    {part: full for full, x in _LEGACY.items() for part in (full, f"e{x}x", f"{x}x", f"{x}l", f"{x}h")}
    | {part: f"r{x}" for x in ("si", "di", "bp", "sp") for part in (f"r{x}", f"e{x}", x, f"{x}l")}
    | {f"r{n}{width}": f"r{n}" for n in range(8, 16) for width in ("", "d", "w", "b")}
)
_ENDS = frozenset({"ret", "retf", "iretq", "sysretq"})
_TRAPS = frozenset({"ud2", "ud1", "ud0", "hlt", "int3"})
_IF_EQUAL = {"je": True, "jne": False}
_NO_INDEX = (x86.X86_REG_INVALID, x86.X86_REG_RIZ, x86.X86_REG_EIZ)
_FLAT = (x86.X86_REG_INVALID, x86.X86_REG_CS, x86.X86_REG_DS, x86.X86_REG_ES, x86.X86_REG_SS)  # they begin at 0
_OPERAND_SIZE = 0x66  # a prefix
_IDLE = frozenset({"nop", "int3"})


def decode(insn: Any) -> Instruction:
    """One instruction that capstone has decoded."""
    mnemonic = insn.mnemonic.rpartition(" ")[2]  # "notrack jmp", "rep stosq"
    special = _SPECIAL.get(mnemonic)
    operations = special(insn, insn.operands) if special else None
    compares = _compares(insn) if mnemonic == "cmp" else None
    if operations is None:
        operations = tuple(_generic(insn, mnemonic))
    control = _control(insn, mnemonic)
    flags = any(insn.reg_name(number) == FLAGS for number in insn.regs_access()[1])
    idle, marked = mnemonic in _IDLE, mnemonic == "endbr64"
    return Instruction(insn.address, insn.size, operations, control, None, flags, idle, compares, marked=marked)


def _compares(insn: Any) -> tuple[str, str] | None:
    left, right = (_register(insn, operand) for operand in insn.operands)
    return (left, right) if left and right else None


def _control(insn: Any, mnemonic: str) -> Control | None:
    if mnemonic in _ENDS:
        return Return(insn.operands[0].imm if insn.operands else 0)
    if mnemonic == "syscall":
        return SystemCall()
    if mnemonic in _TRAPS:
        return Trap()
    if mnemonic == "call":
        target = _target(insn)
        return None if target == insn.address + insn.size else Call(target)
    if mnemonic == "jmp":
        target, operand = _target(insn), insn.operands[0]
        via = _register(insn, operand) if operand.type == x86.X86_OP_REG else None
        pointer = operand.type == x86.X86_OP_MEM and operand.mem.index in _NO_INDEX
        return Jump(() if target is None else (target,), via=via, pointer=pointer)
    if x86.X86_GRP_JUMP in insn.groups or mnemonic.startswith("loop"):
        target = _target(insn)
        return None if target is None else Jump((target,), conditional=True, if_equal=_IF_EQUAL.get(mnemonic))
    return None


def _target(insn: Any) -> int | None:
    operand = insn.operands[0] if insn.operands else None
    return operand.imm if operand is not None and operand.type == x86.X86_OP_IMM else None


def _register(insn: Any, operand: Any) -> str | None:
    """The full-width register of a 64-bit register operand, else None."""
    if operand.type != x86.X86_OP_REG or operand.size != WORD:
        return None
    return _FULL.get(insn.reg_name(operand.reg))


def _memory(insn: Any, operand: Any) -> MemoryOperand | None:
    """A memory operand without index and segment, or None."""
    if operand.type != x86.X86_OP_MEM or operand.mem.index not in _NO_INDEX or operand.mem.segment not in _FLAT:
        return None
    base = _FULL.get(insn.reg_name(operand.mem.base) or "")
    return MemoryOperand(base, operand.mem.disp) if base else None


def _generic(insn: Any, mnemonic: str) -> Iterator[Effect]:
    for operand in insn.operands[:1]:
        if operand.type == x86.X86_OP_MEM and (size := stored_size(insn, mnemonic)) and (at := _memory(insn, operand)):
            yield Store(None, at, size)
    number, size = stored_elsewhere(insn, mnemonic)
    if size and (base := _FULL.get(insn.reg_name(number) or "")):
        yield Store(None, MemoryOperand(base, 0), size)
    written = {_FULL.get(insn.reg_name(number) or "") for number in written_registers(insn, mnemonic)}
    yield from (Forget(name) for name in sorted(filter(None, written)))


Special = Callable[[Any, Any], "tuple[Effect, ...] | None"]  # None: as any other instruction


def _down(size: int) -> Set:
    return Set(SP, SP, -size)


def _stack_size(insn: Any) -> int:
    """What a push or pop moves SP by: a word, or half a doubleword with the prefix for operands of that size."""
    return 2 if insn.prefix[2] == _OPERAND_SIZE and not insn.rex & 8 else WORD


def _push(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    size = _stack_size(insn)
    source = _register(insn, operands[0]) if operands else None  # none: pushfq
    if source == SP:
        return Store(SP, MemoryOperand(SP, -WORD), WORD), _down(WORD)
    return _down(size), Store(source, MemoryOperand(SP, 0), size)


def _pop(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    size = _stack_size(insn)
    if not operands:
        return (Set(SP, SP, size),)  # popfq
    to, at = _register(insn, operands[0]), _memory(insn, operands[0])
    if to == SP:
        return (Load(SP, MemoryOperand(SP, 0), WORD),)
    if to:
        return Load(to, MemoryOperand(SP, 0), WORD), Set(SP, SP, WORD)
    rest: tuple[Effect, ...] = (Store(None, at, size),) if at else ()
    if operands[0].type == x86.X86_OP_REG and (part := _FULL.get(insn.reg_name(operands[0].reg))):
        rest = (Forget(part),)
    return Set(SP, SP, size), *rest


def _call(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    """``call next``: the way that position-independent code reads its own address. Other calls give SP back."""
    end = insn.address + insn.size
    return (_down(WORD), Store(None, MemoryOperand(SP, 0), WORD)) if _target(insn) == end else ()


def _mov(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    to, source = operands
    register = _register(insn, to)
    if source.type == x86.X86_OP_IMM and to.type == x86.X86_OP_REG and to.size >= 4:
        value = source.imm if to.size == WORD else source.imm & 0xFFFF_FFFF
        return (SetNumber(_FULL[insn.reg_name(to.reg)], value),)
    if register and (from_register := _register(insn, source)):
        return (Set(register, from_register),)
    if register and (at := _memory(insn, source)):
        return (Load(register, at, WORD),)
    if (at := _memory(insn, to)) and to.size == WORD:
        return (Store(_register(insn, source), at, WORD),)
    return None


def _lea(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    to, at = _register(insn, operands[0]), _memory(insn, operands[1])
    if to and at is None and insn.reg_name(operands[1].mem.base) == PC:
        return (SetNumber(to, insn.address + insn.size + operands[1].mem.disp),)
    return (Set(to, at.register, at.offset),) if to and at else None


def _add(insn: Any, operands: Any, sign: int = 1) -> tuple[Effect, ...] | None:
    to, source = _register(insn, operands[0]), operands[1]
    if to is None:
        return None
    if source.type == x86.X86_OP_IMM:
        return (Set(to, to, sign * source.imm),)
    other = _register(insn, source)
    return (Combine(to, to, other, sign),) if other else None


def _xor(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    to, source = operands
    if to.type == source.type == x86.X86_OP_REG and to.reg == source.reg and to.size >= 4:
        return (SetNumber(_FULL[insn.reg_name(to.reg)], 0),) if insn.reg_name(to.reg) in _FULL else None
    return None


def _step(sign: int) -> Special:
    def one(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
        to = _register(insn, operands[0])
        return (Set(to, to, sign),) if to else None

    return one


def _leave(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    if _stack_size(insn) != WORD:
        return Set(SP, FP), Forget(FP), Set(SP, SP, _stack_size(insn))
    return Set(SP, FP), Load(FP, MemoryOperand(SP, 0), WORD), Set(SP, SP, WORD)


def _enter(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    """FP is pushed, then as many frame pointers of enclosing procedures as the level says, the last one the new FP."""
    size, level = operands[0].imm & 0xFFFF, operands[1].imm & 0x1F
    if _stack_size(insn) != WORD:
        return Forget(FP), Forget(SP)
    pushed = (_down(WORD), Store(None, MemoryOperand(SP, 0), WORD))
    display = (*(pushed * (level - 1)), _down(WORD), Store(FP, MemoryOperand(SP, 0), WORD)) if level else ()
    return _down(WORD), Store(FP, MemoryOperand(SP, 0), WORD), Set(FP, SP), *display, _down(size)


def _ret(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    return Load(PC, MemoryOperand(SP, 0), WORD), Set(SP, SP, WORD + (operands[0].imm if operands else 0))


def _nothing(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    return ()


_SPECIAL: Mapping[str, Special] = MappingProxyType(
    {
        "push": _push,
        "pushfq": _push,
        "pushf": _push,
        "pop": _pop,
        "popfq": _pop,
        "popf": _pop,
        "call": _call,
        "mov": _mov,
        "movabs": _mov,
        "lea": _lea,
        "add": _add,
        "sub": lambda insn, operands: _add(insn, operands, -1),
        "xor": _xor,
        "inc": _step(1),
        "dec": _step(-1),
        "leave": _leave,
        "enter": _enter,
        "nop": _nothing,
        "endbr64": _nothing,
        "jmp": _nothing,
        "ret": _ret,
    }
)
