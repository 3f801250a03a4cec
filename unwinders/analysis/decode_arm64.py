"""A64 instructions as operations of the frame. Source: Arm Architecture Reference Manual, part C; decoded by capstone.

Whatever has no line of its own forgets the registers that it writes and the memory operands that it writes to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from capstone import arm64 as a64

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
    SetBits,
    SetNumber,
    Sign,
    Store,
    SystemCall,
    Trap,
)

# How many bytes an A64 instruction stores: by its mnemonic and the registers stored, for vectors by its encoding.
#
# Source: Arm Architecture Reference Manual, parts C4.1 (encodings), C6 and C7 (loads and stores), C8 (SVE). Where an
# instruction does not say how much it stores (a scalable vector), it is what the smallest processor stores: the rest is
# as a store through an address that is not followed.

_ORDER = "(?:a|l|al)?"
_CHANGE = f"(?:add|clr|eor|set|smax|smin|umax|umin){_ORDER}"
_SINGLE = re.compile(rf"(?:st(?:r|ur|tr|lr|lur|llr|xr|lxr)|(?:ld|st){_CHANGE}|swp{_ORDER}|cas{_ORDER})([bh]?)")
_PAIR = re.compile(rf"st(?:p|np|xp|lxp|gp)|casp{_ORDER}")
_STATUS_FIRST = re.compile(r"stl?x[rp][bh]?")
_STRUCTURES = re.compile(r"st[1-4]")
_SCALABLE = re.compile(r"st(?:nt)?([1-4])([bhwd])")
_LOADS_AND_CHANGES = re.compile(rf"(?:ld{_CHANGE}|swp{_ORDER})[bh]?")
_COMPARES_AND_SWAPS = re.compile(rf"cas(p?){_ORDER}[bh]?")
_LISTS = re.compile(r"ld[1-4]")

_WIDTH = MappingProxyType({"x": 8, "w": 4, "f": 8, "l": 8, "q": 16, "d": 8, "s": 4, "h": 2, "b": 1, "z": 16, "p": 2})
_TAGGING = MappingProxyType({"stg": 0, "st2g": 0, "stzg": 16, "stz2g": 32})  # tags are no bytes of memory
_WHOLE_LINE = 64  # st64b
_LEAST_VECTOR = 16
# Multiple structures, by the field opcode: how many vector registers.
_REGISTERS = MappingProxyType({0: 4, 2: 4, 4: 3, 6: 3, 7: 1, 8: 2, 10: 2})
_SIZES = ((8, "D"), (4, "S"), (2, "H"), (1, "B"))
_ELEMENT = MappingProxyType(
    {
        value: size
        for name, value in vars(a64).items()
        for size, end in _SIZES
        if re.fullmatch(rf"ARM64_VAS_\d+{end}", name)
    }
)


def width_of(register: str) -> int:
    """The bytes of a register, by its name; of a scalable one, at least."""
    return 4 if register in ("wsp", "wzr") else 8 if register in ("sp", "xzr") else _WIDTH.get(register[0], 0)


def stored_size(insn: Any) -> int:
    """The bytes that a store, an exclusive store or an atomic operation writes; 0 for all other instructions."""
    name = insn.mnemonic
    registers = [insn.reg_name(o.reg) for o in insn.operands if o.type == a64.ARM64_OP_REG]
    if name in _TAGGING:
        return _TAGGING[name]
    if name.startswith("st64b"):
        return _WHOLE_LINE
    if _STRUCTURES.fullmatch(name):
        return _structures(int.from_bytes(insn.bytes, "little"))
    if scalable := _SCALABLE.fullmatch(name):
        element = _ELEMENT.get(insn.operands[0].vas, 1)
        return int(scalable[1]) * _LEAST_VECTOR // element * _WIDTH.get(scalable[2], 4)
    stored = registers[1:] if _STATUS_FIRST.fullmatch(name) else registers
    if not stored:
        return 0
    if single := _SINGLE.fullmatch(name):
        return _WIDTH[single[1]] if single[1] else width_of(stored[0])
    return 2 * width_of(stored[0]) if _PAIR.fullmatch(name) else 0


def _structures(word: int) -> int:
    """st1 to st4: whole vector registers (bit 24 is 0), or one element of each."""
    if not word >> 24 & 1:
        return _REGISTERS.get(word >> 12 & 15, 0) * (16 if word >> 30 & 1 else 8)
    opcode, several, size = word >> 13 & 7, word >> 21 & 1, word >> 10 & 3
    element = 8 if opcode >> 1 == 2 and size == 1 else 1 << (opcode >> 1)
    return ((opcode & 1) << 1 | several) * element + element


def also_loaded(insn: Any) -> list[str]:
    """Registers loaded by what capstone 5 does not say it of: atomic operations, lists of vector registers."""
    registers = [insn.reg_name(o.reg) for o in insn.operands if o.type == a64.ARM64_OP_REG]
    if found := _COMPARES_AND_SWAPS.fullmatch(insn.mnemonic):
        return registers[: 2 if found[1] else 1]
    if _LISTS.match(insn.mnemonic):
        return registers
    return registers[-1:] if _LOADS_AND_CHANGES.fullmatch(insn.mnemonic) else []


LINK, PC, FLAGS = "x30", "pc", "nzcv"
WORD = 8
PLAIN_SHIFTS = (a64.ARM64_SFT_INVALID, a64.ARM64_SFT_LSL)

# Every name of a register -> the register of the architecture table; the vector registers by their low half.
_FULL: Mapping[str, str] = MappingProxyType(
    {f"{width}{n}": f"x{n}" for n in range(31) for width in "xw"}
    | {"fp": "x29", "lr": "x30", "sp": "sp", "wsp": "sp"}
    | {f"{width}{n}": f"d{n}" for n in range(8, 16) for width in "zvqdshb"}
)
_RETURNS = frozenset({"ret", "retaa", "retab", "eret", "eretaa", "eretab"})
_TRAPS = frozenset({"udf", "brk", "hlt"})
_READS_FIRST = re.compile(r"st(?!l?x[rp])|prf|[ct]bn?z|br|blr|ret|dc|ic|at|tlbi|sys$|setf|rmif")
_IF_EQUAL = {"b.eq": True, "b.ne": False}
_SIGNS = {"paciasp": True, "pacibsp": True, "paciaz": True, "pacibz": True}
_SIGNS |= {"autiasp": False, "autibsp": False, "autiaz": False, "autibz": False, "xpaclri": False}


def decode(insn: Any) -> Instruction:
    """One instruction that capstone has decoded."""
    name = insn.mnemonic
    special = _SPECIAL.get(name)
    operations = special(insn, insn.operands) if special else None
    if operations is None:
        operations = tuple(_generic(insn))
    control = _control(insn, name)
    compares = _compares(insn) if name == "cmp" else None
    flags = any(insn.reg_name(number) == FLAGS for number in insn.regs_access()[1])
    return Instruction(insn.address, insn.size, operations, control, None, flags, name == "nop", compares)


def _compares(insn: Any) -> tuple[str, str] | None:
    if len(insn.operands) != 2:
        return None
    left, right = (_name(insn, operand) for operand in insn.operands)
    plain = insn.operands[1].shift.value == 0
    return (left, right) if left and right and plain else None


def _control(insn: Any, name: str) -> Control | None:
    operands = insn.operands
    if name in _RETURNS:
        register = _name(insn, operands[0]) if operands else LINK
        return Return() if register == LINK else Jump(via=register)
    if name in _TRAPS:
        return Trap()
    if name == "svc":
        return SystemCall()
    if name == "bl":
        return Call(operands[0].imm)
    if name.startswith("blr"):
        return Call()
    if name == "b":
        return Jump((operands[0].imm,))
    if name.startswith("b.") or name in ("cbz", "cbnz", "tbz", "tbnz"):
        return Jump((operands[-1].imm,), conditional=True, if_equal=_IF_EQUAL.get(name))
    if name in ("br", "braa", "brab", "braaz", "brabz"):
        return Jump(via=_name(insn, operands[0]))
    return None


def _name(insn: Any, operand: Any) -> str | None:
    """The full register of a 64-bit register operand, else None."""
    if operand.type != a64.ARM64_OP_REG:
        return None
    name = insn.reg_name(operand.reg)
    return _FULL.get(name) if name[0] not in "wvqshb" or name == "sp" else None


def _generic(insn: Any) -> Iterator[Effect]:
    """Forget what is written; a writeback by a constant keeps its base."""
    memory = next((o for o in insn.operands if o.type == a64.ARM64_OP_MEM), None)
    moved = _written_back(insn, memory) if memory is not None else ()
    names = {insn.reg_name(number) for number in insn.regs_access()[1]} | {*also_loaded(insn)}
    size = stored_size(insn) if memory is not None else 0
    if size and (at := _at(insn, memory)):
        yield Store(None, at, size)
    first = insn.operands[0] if insn.operands else None
    # Of many an instruction capstone 5 does not say that it writes to its first register.
    if first is not None and first.type == a64.ARM64_OP_REG and not _READS_FIRST.match(insn.mnemonic):
        names.add(insn.reg_name(first.reg))
    written = {_FULL.get(name or "") for name in names}
    yield from (Forget(name) for name in sorted(filter(None, written)) if name not in {o.to for o in moved})
    yield from moved


def _at(insn: Any, operand: Any) -> MemoryOperand | None:
    """A memory operand without index register, or None. With writeback before the access, from the new base."""
    if operand.mem.index or insn.op_str.endswith("mul vl]"):  # in vectors, whose length the code does not say
        return None
    base = _FULL.get(insn.reg_name(operand.mem.base) or "")
    return MemoryOperand(base, operand.mem.disp) if base else None


def _written_back(insn: Any, memory: Any) -> tuple[Set, ...] | tuple[Forget, ...]:
    """What the base register becomes, after the access."""
    base = _FULL.get(insn.reg_name(memory.mem.base) or "")
    last = insn.operands[-1]
    if not insn.writeback or not base:
        return ()
    if last.type == a64.ARM64_OP_IMM:
        return (Set(base, base, last.imm),)
    if last.type == a64.ARM64_OP_MEM and memory.mem.disp:
        return (Set(base, base, memory.mem.disp),)
    return (Forget(base),)


Special = Callable[[Any, Any], "tuple[Effect, ...] | None"]  # None: as any other instruction


def _access(load: bool) -> Special:
    """ldr, ldp, str, stp and their unscaled forms."""

    def access(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
        memory = next((o for o in operands if o.type == a64.ARM64_OP_MEM), None)
        names = [insn.reg_name(o.reg) for o in operands if o.type == a64.ARM64_OP_REG]
        if not names or names[0][0] in "zp":  # of SME's and SVE's own registers
            return None
        if memory is None:
            literal = operands[-1]
            full = _FULL.get(names[0])
            if load and full and names[0][0] in "xlf" and literal.type == a64.ARM64_OP_IMM:
                return (Load(full, MemoryOperand(PC, literal.imm), WORD),)
            return None
        at = _at(insn, memory)
        out: list[Effect] = []
        for i, name in enumerate(names):
            width, full = width_of(name), _FULL.get(name)
            here = MemoryOperand(at.register, at.offset + i * width) if at else None
            if not load and here:
                out.append(Store(full if width == WORD else None, here, width))
            elif load and full:
                out.append(Load(full, here, WORD) if here and width == WORD else Forget(full))
        # A register that is loaded over the base of the other one: the second load must not use it.
        if load and at and any(isinstance(o, Load) and o.to == at.register for o in out):
            out.sort(key=lambda o: o.to == at.register if isinstance(o, Load | Forget) else False)
        return (*out, *_written_back(insn, memory))

    return access


def _mov(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    if len(operands) != 2 or operands[0].type != a64.ARM64_OP_REG:
        return None
    to, source = operands
    name = insn.reg_name(to.reg)
    if source.type == a64.ARM64_OP_IMM and name[0] in "xwlf" and name in _FULL:
        value = source.imm << source.shift.value if source.shift.type else source.imm
        return (SetNumber(_FULL[name], value if name[0] != "w" else value & 0xFFFF_FFFF),)
    full, other = _name(insn, to), _name(insn, source)
    return (Set(full, other),) if full and other else None


def _movk(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    to, source = operands
    full = _FULL.get(insn.reg_name(to.reg))
    return (SetBits(full, source.imm, source.shift.value if source.shift.type else 0, 16),) if full else None


def _add(sign: int) -> Special:
    def add(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
        if len(operands) != 3:
            return None
        to, left, right = _name(insn, operands[0]), _name(insn, operands[1]), operands[2]
        if to is None or left is None:
            return None
        if right.type == a64.ARM64_OP_IMM:
            return (Set(to, left, sign * (right.imm << right.shift.value)),)
        other = _name(insn, right)
        plain = right.shift.value == 0 and right.shift.type in PLAIN_SHIFTS
        if other is None or not plain or right.ext not in (a64.ARM64_EXT_INVALID, a64.ARM64_EXT_UXTX):
            return None
        return (Combine(to, left, other, sign),)

    return add


def _adr(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    full = _name(insn, operands[0])
    return (SetNumber(full, operands[1].imm),) if full else None


def _nothing(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    return ()


def _sign(insn: Any, operands: Any) -> tuple[Effect, ...] | None:
    return (Sign(LINK, _SIGNS[insn.mnemonic]),)


_SPECIAL: Mapping[str, Special] = MappingProxyType(
    {name: _access(True) for name in ("ldr", "ldur", "ldp", "ldnp")}
    | {name: _access(False) for name in ("str", "stur", "stp", "stnp")}
    | {name: _nothing for name in ("nop", "bti", "hint", "bl", "b", "svc", "ret", "csdb")}
    # Of a comparison capstone 5 says that it writes its first operand, which is the zero register that it hides.
    | {name: _nothing for name in ("cmp", "cmn", "tst", "ccmp", "ccmn", "fcmp", "fcmpe")}
    | {name: _sign for name in _SIGNS}
    | {"mov": _mov, "movz": _mov, "fmov": _mov, "movk": _movk, "add": _add(1), "sub": _add(-1), "adr": _adr}
)
