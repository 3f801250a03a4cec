"""What A32 and T32 loads and stores do besides: how many bytes a store writes, what becomes of the base register.

Both are read from the encoding where capstone 5 does not have them right: sizes it has none, of post-indexed and
unprivileged loads and stores it forgets the base register, and of vectors of structures it takes the alignment for a
distance. Source: Arm Architecture Reference Manual, ARMv7-A, chapters A5 (A32), A6 (T32) and A7 (vectors).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from capstone import arm

from testbed.arch import Isa
from unwinders.analysis.operations import Combine, Forget, MemoryOperand, Set

# Operands of A32 and T32 instructions, as capstone gives them: registers of the architecture table, and memory.

SP, LINK, PC = "sp", "lr", "pc"

# Every name of a register -> the registers of the architecture table that it is, or lies in.
FULL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {f"r{n}": (f"r{n}",) for n in range(13)}
    | {"sb": ("r9",), "sl": ("r10",), "fp": ("r11",), "ip": ("r12",), SP: (SP,), LINK: (LINK,), PC: (PC,)}
    | {f"d{n}": (f"d{n}",) for n in range(8, 16)}
    | {f"s{n}": (f"d{n // 2}",) for n in range(16, 32)}
    | {f"q{n}": (f"d{2 * n}", f"d{2 * n + 1}") for n in range(4, 8)}
)


def full_register(insn: Any, operand: Any) -> str | None:
    """The one full register that an unshifted operand is, or None."""
    if operand.type != arm.ARM_OP_REG or operand.shift.type:
        return None
    name = insn.reg_name(operand.reg)
    full = FULL.get(name, ())
    return full[0] if (len(full) == 1 and name[0] != "s") or name in (SP, "sb", "sl") else None


def register_names(insn: Any, operands: Any) -> list[str]:
    """The register operands of an instruction, by name and in order."""
    return [insn.reg_name(o.reg) for o in operands if o.type == arm.ARM_OP_REG]


def memory_operand(insn: Any, operand: Any) -> MemoryOperand | None:
    """Base and displacement of a memory operand; None where there is an index, or no memory."""
    if operand.type != arm.ARM_OP_MEM or operand.mem.index:
        return None
    base = FULL.get(insn.reg_name(operand.mem.base) or "", ())
    return MemoryOperand(base[0], operand.mem.disp) if base else None


WORD = 4
Moved = Set | Combine | Forget

_SIZED = re.compile(r"st(?:r|l|rex|lex)(?P<part>[bhd]?)t?|swp(?P<byte>b?)")
_PARTS = MappingProxyType({"b": 1, "h": 2, "d": 8, "": 4})
# Several structures, by the field type: how many doubleword registers.
_REGISTERS = MappingProxyType({0: 4, 1: 4, 2: 4, 3: 4, 4: 3, 5: 3, 6: 3, 7: 1, 8: 2, 9: 2, 10: 2})
_NOT_WRITTEN, _BY_SIZE = 15, 13  # the field Rm: the base register stays, or grows by the bytes accessed


def stored_size(insn: Any, isa: Isa, root: str) -> int:
    """The bytes that a store of this mnemonic writes; 0 for all other instructions."""
    word = _structures(insn, isa)
    if word is not None:
        return _structures_size(word) if root.startswith("vst") else 0
    if root == "vstr":
        return 2 if insn.mnemonic.endswith(".16") else 8 if insn.reg_name(insn.operands[0].reg)[0] == "d" else WORD
    if root.startswith("stc"):
        return WORD
    sized = _SIZED.fullmatch(root)
    return _PARTS[sized["part"] or sized["byte"] or ""] if sized else 0


def base_and_distance(insn: Any, isa: Isa, memory: Any) -> MemoryOperand | None:
    """The memory operand, without what capstone takes for a distance."""
    at = memory_operand(insn, memory)
    return MemoryOperand(at.register, 0) if at is not None and _structures(insn, isa) is not None else at


def written_back(insn: Any, isa: Isa, memory: Any) -> tuple[Moved, ...]:
    """What the base register becomes, after the access."""
    base = FULL.get(insn.reg_name(memory.mem.base) or "", ())
    if not base:
        return ()
    word = _structures(insn, isa)
    if word is not None:
        return _structures_base(word, base[0])
    word = _word(insn, isa)
    if not isa.address_bit and _is_single(word):
        return _single_base(word, base[0])
    if not insn.writeback:
        return ()
    last = insn.operands[-1]
    if last.type == arm.ARM_OP_IMM:
        return (Set(base[0], base[0], -last.imm if last.subtracted else last.imm),)
    if last.type == arm.ARM_OP_MEM and not memory.mem.index:
        return (Set(base[0], base[0], memory.mem.disp),)
    return (Forget(base[0]),)


def _is_single(word: int) -> bool:
    """A32: loads and stores of a word or a byte; of halfwords, doublewords and with a sign ("extra")."""
    if word >> 28 == 15:
        return False
    if word >> 26 & 3 == 1:
        return not (word >> 25 & 1 and word >> 4 & 1)  # else a media instruction
    return word >> 25 & 7 == 0 and word & 0x90 == 0x90 and bool(word & 0x60)


def _single_base(word: int, base: str) -> tuple[Moved, ...]:
    """P (bit 24) and not W (bit 21): the base register stays. U (bit 23): the distance is added."""
    if word >> 24 & 1 and not word >> 21 & 1:
        return ()
    extra = not word >> 26 & 1
    if extra and word >> 22 & 1:
        distance = word >> 4 & 0xF0 | word & 15
    elif not extra and not word >> 25 & 1:
        distance = word & 0xFFF
    else:
        return (Forget(base),)
    return (Set(base, base, distance if word >> 23 & 1 else -distance),)


def _structures_base(word: int, base: str) -> tuple[Moved, ...]:
    by = word & 15
    if by == _NOT_WRITTEN:
        return ()
    return (
        (Set(base, base, _structures_size(word)),)
        if by == _BY_SIZE
        else (Combine(base, base, f"r{by}", 1) if by < 13 else Forget(base),)
    )


def _structures_size(word: int) -> int:
    """The bytes of several structures (bit 23 is 0), of one element of each register, or of one to all lanes."""
    if not word >> 23 & 1:
        return 8 * _REGISTERS.get(word >> 8 & 15, 0)
    many, size = (word >> 8 & 3) + 1, word >> 10 & 3
    return many << (size if size < 3 else word >> 6 & 3)


def _structures(insn: Any, isa: Isa) -> int | None:
    """A load or store of structures, vld1 to vst4: A32 has 0xf4 in front, T32 0xf9; all the rest is the same."""
    word = _word(insn, isa)
    return word if word >> 24 == (0xF9 if isa.address_bit else 0xF4) and not word >> 20 & 1 else None


def _word(insn: Any, isa: Isa) -> int:
    """An instruction of 32 bits as the manual draws it: of T32, the first halfword is the upper one."""
    code = bytes(insn.bytes)
    return int.from_bytes(code[2:] + code[:2] if isa.address_bit and len(code) == 4 else code, "little")
