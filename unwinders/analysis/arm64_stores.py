"""How many bytes an A64 instruction stores: by its mnemonic and the registers stored, for vectors by its encoding.

Source: Arm Architecture Reference Manual, parts C4.1 (encodings), C6 and C7 (loads and stores), C8 (SVE). Where an
instruction does not say how much it stores (a scalable vector), it is what the smallest processor stores: the rest is
as a store through an address that is not followed.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from capstone import arm64 as a64

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


def is_scaled(insn: Any) -> bool:
    """True where the distance is in vectors, whose length the code does not say."""
    return bool(insn.op_str.endswith("mul vl]"))
