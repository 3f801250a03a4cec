"""Which x86-64 instructions write to their memory operand, and how many bytes.

Capstone 5 knows the operand's size, with the exceptions below, but says of most SSE, AVX and x87 stores that they read
it. So a first operand in memory is taken to be written, unless the instruction is one of those that only read it.
Where a register says how much is stored (by `xsave`, by a repeated `stos`), it counts as a store through an address
that is not followed. Source: Intel SDM, volume 2.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from capstone import x86

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
