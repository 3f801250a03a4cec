"""What arm64's instructions do to values that are followed. Source: Arm ARM (DDI 0487), chapter C6 and C7."""

from __future__ import annotations

import re
from typing import Any

from capstone import CS_GRP_CALL, CS_GRP_JUMP, CS_OP_IMM, CS_OP_MEM, CS_OP_REG, arm64_const

from testbed.witness.operands import Reading, by_word, moved, reads, words_at, writes, written
from testbed.witness.passage import Carry, Flow, MemoryWord, Passage, Spot

_WIDE = re.compile(r"([bhsdqv])(\d+)$")
_WORD = 8
_LINK = "x30"

_LOADS = ("ldp", "ldnp", "ldr", "ldur", "ldtr", "ldar", "ldapr", "ldxr", "ldaxr", "ldxp", "ldaxp", "ldpsw", "ld1")
_STORES = ("stp", "stnp", "str", "stur", "sttr", "stlr", "st1")
_EXCLUSIVE_STORES = ("stxr", "stlxr", "stxp", "stlxp")  # the first register is told whether it was done
_SIGNED_LINK = ("paciasp", "pacibsp", "paciaz", "pacibz", "autiasp", "autibsp", "autiaz", "autibz", "xpaclri")
_SIGNED_X17 = ("pacia1716", "pacib1716", "autia1716", "autib1716")
_SELECTIONS = ("csel", "csinc", "csinv", "csneg", "cinc", "cset", "cneg", "cinv", "fcsel")
_COMPARISONS = ("cmp", "cmn")  # capstone has some of them write their first register
_RESULT = "x0"  # of a system call: Linux keeps all other registers
_RETURNS = ("ret", "retaa", "retab")
_CALLS = ("bl", "blr", "blraa", "blrab", "blraaz", "blrabz")
_INDIRECT = ("br", "braa", "brab", "braaz", "brabz")
_EXTENDED = {
    arm64_const.ARM64_EXT_UXTW: (32, False),
    arm64_const.ARM64_EXT_SXTW: (32, True),
}


_SPELLINGS = {"fp": "x29", "lr": "x30", "wsp": "sp", **{f"w{i}": f"x{i}" for i in range(31)}}


def words(name: str) -> tuple[str, ...]:
    """The words of a register; a part of one is the whole of it, the zero register keeps nothing."""
    if name in ("xzr", "wzr"):
        return ()
    match = _WIDE.match(name)
    if match is None:
        return (_SPELLINGS.get(name, name),)
    return (f"v{match[2]}", f"v{match[2]}+{_WORD}") if match[1] in "qv" else (f"v{match[2]}",)


def effect(reading: Reading) -> Passage:
    """The effect of one instruction."""
    name = reading.instruction.mnemonic
    if name in _CALLS:
        return Passage(flow=Flow.CALL, target=_target(reading), direct=reading.immediate)
    if name in _RETURNS or name in _INDIRECT:
        return Passage(flow=Flow.JUMP, target=_target(reading) or _LINK)
    if reading.instruction.group(CS_GRP_JUMP) or reading.instruction.group(CS_GRP_CALL):
        return Passage(flow=Flow.JUMP, direct=reading.immediate)
    if name == "svc":  # capstone has it write the link register
        return Passage(((_RESULT, ()),))
    if name in _COMPARISONS:
        return Passage()
    if name in _SIGNED_LINK:
        return Passage(((_LINK, (_LINK,)),))
    if name in _SIGNED_X17:
        return Passage((("x17", ("x17",)),))
    if name.startswith(_EXCLUSIVE_STORES):
        status, *rest = reading.registers
        return Passage((*by_word(reading.register(status.reg)), *_stores(reading, rest)))
    if name.startswith(_LOADS):
        return Passage(_loads(reading))
    if name.startswith(_STORES):
        return Passage(_stores(reading, reading.registers))
    moves = _general(reading)
    return Passage(moves, chosen=name in _SELECTIONS, difference=name in ("sub", "subs"))


def _target(reading: Reading) -> Spot | None:
    first = next(iter(reading.operands), None)
    return next(iter(reading.register(first.reg)), None) if first is not None and first.type == CS_OP_REG else None


def _general(reading: Reading) -> tuple[Carry, ...]:
    """What is written comes from what is read; of memory (atomic operations) nothing is said."""
    registers = reading.registers
    sources = [reading.register(o.reg) for o in registers if reads(o)]
    memory = next((o for o in reading.operands if o.type == CS_OP_MEM), None)
    base = reading.register(memory.mem.base) if memory is not None else ()
    to = [reading.register(o.reg) for o in registers if writes(o)]
    return written(reading, to, sources, kept=(*base, reading.arch.flags))


def _words(reading: Reading, operand: Any) -> tuple[tuple[str, ...], int]:
    """A register that is loaded or stored: its words, and how many bytes of memory it takes."""
    name = reading.instruction.reg_name(operand.reg)
    if name[0] in "qv":
        half = operand.vas in _HALF_VECTORS
        return reading.register(operand.reg)[: 1 if half else 2], 8 if half else 16
    return reading.register(operand.reg), 4 if name[0] in "ws" and name != "sp" else _WORD


_HALF_VECTORS = (
    arm64_const.ARM64_VAS_8B,
    arm64_const.ARM64_VAS_4H,
    arm64_const.ARM64_VAS_2S,
    arm64_const.ARM64_VAS_1D,
)


def _memory(reading: Reading) -> MemoryWord | None:
    """The address; an index after the access does not count for it."""
    operand = next((o for o in reading.operands if o.type == CS_OP_MEM), None)
    if operand is None:
        literal = reading.immediate  # ldr x0, label
        return MemoryWord(None, literal) if literal is not None else None
    base = reading.column(operand.mem.base)
    bits, signed = _EXTENDED.get(operand.ext, (64, False))
    scale = 1 << operand.shift.value if operand.shift.type == arm64_const.ARM64_SFT_LSL else 1
    return MemoryWord(base, operand.mem.disp, reading.column(operand.mem.index), scale, bits, signed)


def _pairs(reading: Reading, registers: list[Any]) -> list[tuple[Spot, MemoryWord]]:
    """Each word of the registers with the word of memory it is loaded from or stored to."""
    memory, offset = _memory(reading), 0
    found: list[tuple[Spot, MemoryWord]] = []
    for operand in registers:
        words, size = _words(reading, operand)
        if memory is not None:
            found.extend(zip(words, words_at(moved(memory, offset), _WORD, size), strict=False))
        offset += size
    return found


def _data(registers: list[Any], operands: list[Any]) -> list[Any]:
    """The registers before the address: a register behind it is added to its base afterwards."""
    ends = next((i for i, o in enumerate(operands) if o.type in (CS_OP_MEM, CS_OP_IMM)), len(operands))
    return registers[: min(ends, len(registers))]


def _loads(reading: Reading) -> tuple[Carry, ...]:
    loaded = _data(reading.registers, reading.operands)
    moves: dict[Spot, tuple[Spot, ...]] = {spot: () for o in loaded for spot in reading.register(o.reg)}
    moves |= {spot: (memory,) for spot, memory in _pairs(reading, loaded)}
    return tuple(moves.items())


def _stores(reading: Reading, registers: list[Any]) -> tuple[Carry, ...]:
    shift = len(reading.registers) - len(registers)
    stored = _data(registers, reading.operands[shift:])
    return tuple((memory, (spot,)) for spot, memory in _pairs(reading, stored))
