"""Operands of A32 and T32 instructions, as capstone gives them: registers of the architecture table, and memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from capstone import arm

from unwinders.analysis.operations import MemoryOperand

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
    return [insn.reg_name(o.reg) for o in operands if o.type == arm.ARM_OP_REG]


def memory_operand(insn: Any, operand: Any) -> MemoryOperand | None:
    if operand.type != arm.ARM_OP_MEM or operand.mem.index:
        return None
    base = FULL.get(insn.reg_name(operand.mem.base) or "", ())
    return MemoryOperand(base[0], operand.mem.disp) if base else None
