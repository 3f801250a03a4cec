"""What A32's and Thumb's instructions do to values that are followed. Source: ARM ARM (DDI 0406C), chapter A8."""

from __future__ import annotations

import re
from typing import Any

from capstone import CS_OP_IMM, CS_OP_MEM, CS_OP_REG, arm_const

from testbed.witness.operands import Reading, by_word, moved, reads, writes, written
from testbed.witness.passage import Carry, Flow, MemoryWord, Passage, Spot

_WIDE = re.compile(r"([sdq])(\d+)$")
_WORD = 4
_PC, _SP = "pc", "sp"

# Lists of registers: how far below the base the lowest word lies, in (words of the list, words).
_UP, _DOWN, _UP_BEFORE, _DOWN_AFTER = (0, 0), (-1, 0), (0, 1), (-1, 1)
_LISTS = {
    "ldm": _UP,
    "ldmdb": _DOWN,
    "ldmib": _UP_BEFORE,
    "ldmda": _DOWN_AFTER,
    "stm": _UP,
    "stmdb": _DOWN,
    "stmib": _UP_BEFORE,
    "stmda": _DOWN_AFTER,
    "pop": _UP,
    "push": _DOWN,
    "vpop": _UP,
    "vpush": _DOWN,
    "vldmia": _UP,
    "vldmdb": _DOWN,
    "vstmia": _UP,
    "vstmdb": _DOWN,
    "fldmx": _UP,
    "fstmx": _UP,
}
_ON_STACK = ("pop", "push", "vpop", "vpush")
_STORES = ("st", "vst", "push", "vpush", "fst")
_EXCLUSIVE_STORES = ("strex", "stlex")
_KEPT = ("movt", "bfi")


_SPELLINGS = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"}


def words(name: str) -> tuple[str, ...]:
    """The words of a register: two of a double one, half of which is a single one."""
    match = _WIDE.match(name)
    if match is None:
        return (_SPELLINGS.get(name, name),)
    number = int(match[2])
    if match[1] == "s":
        return (_half(number // 2, number % 2),)
    doubles = (number,) if match[1] == "d" else (2 * number, 2 * number + 1)
    return tuple(_half(double, half) for double in doubles for half in (0, 1))


def _half(double: int, half: int) -> str:
    return f"d{double}+{_WORD}" if half else f"d{double}"


def effect(reading: Reading) -> Passage:
    """The effect of one instruction, and the condition it has."""
    instruction = reading.instruction
    name = instruction.insn_name()
    condition = None if instruction.cc in (0, arm_const.ARM_CC_AL) else int(instruction.cc)
    if name in ("bl", "blx"):
        return Passage(flow=Flow.CALL, target=_named_target(reading), direct=reading.immediate, condition=condition)
    if name in ("bx", "bxj"):
        return Passage(flow=Flow.JUMP, target=_named_target(reading), condition=condition)
    if name in ("b", "cbz", "cbnz", "tbb", "tbh"):
        return Passage(flow=Flow.JUMP, direct=reading.immediate, condition=condition if name == "b" else None)
    if name == "svc":  # capstone has it write the link register; Linux keeps all but the result
        return Passage((("r0", ()),), condition=condition)
    moves = _moves(reading, name)
    target = next((sources for spot, sources in moves if spot == _PC), None)
    moves = tuple(move for move in moves if move[0] != _PC)
    difference = name in ("sub", "rsb", "subw")
    if target is None:
        return Passage(moves, condition=condition, difference=difference)
    followed = next((spot for spot in target if spot != _PC), None)
    return Passage(moves, Flow.JUMP, followed, condition=condition)


def _named_target(reading: Reading) -> Spot | None:
    operand = reading.operands[0]
    return reading.register(operand.reg)[0] if operand.type == CS_OP_REG else None


def _moves(reading: Reading, name: str) -> tuple[Carry, ...]:
    if name in _LISTS:
        return _list(reading, name)
    if any(operand.type == CS_OP_MEM for operand in reading.operands) and not name.startswith("pld"):
        return _memory_access(reading, name)
    return _general(reading, name)


def _general(reading: Reading, name: str) -> tuple[Carry, ...]:
    registers = reading.registers
    sources = [reading.register(o.reg) for o in registers if reads(o)]
    if name.startswith(_KEPT) and registers:
        sources.append(reading.register(registers[0].reg))
    same = len(registers) == 3 and registers[1].reg == registers[2].reg
    if same and name in ("eor", "sub"):
        sources = []
    to = [reading.register(o.reg) for o in registers if writes(o)]
    return written(reading, to, sources, kept=(_PC, reading.arch.flags))


def _list(reading: Reading, name: str) -> tuple[Carry, ...]:
    """A list of registers and consecutive words: the lowest register has the lowest address."""
    listed = reading.registers
    base = _SP
    if name not in _ON_STACK:
        base = reading.register(listed[0].reg)[0]
        listed = listed[1:]
    words = [spot for operand in listed for spot in reading.register(operand.reg)]
    lists, extra = _LISTS[name]
    lowest = MemoryWord(reading.arch.index[base], _WORD * (lists * len(words) + extra))
    return _between(words, lowest, stored=name.startswith(_STORES))


def _between(words: list[str], lowest: MemoryWord, *, stored: bool) -> tuple[Carry, ...]:
    pairs = [(word, moved(lowest, _WORD * i)) for i, word in enumerate(words)]
    return tuple((memory, (word,)) if stored else (word, (memory,)) for word, memory in pairs)


def _memory_access(reading: Reading, name: str) -> tuple[Carry, ...]:
    """Loads and stores of one register or two."""
    registers = []
    for operand in reading.operands:  # a register behind the address is added to its base afterwards
        if operand.type == CS_OP_MEM:
            break
        registers.append(operand)
    cleared: tuple[Carry, ...] = ()
    if name.startswith(_EXCLUSIVE_STORES):
        cleared = by_word(reading.register(registers[0].reg))
        registers = registers[1:]
    words = [spot for operand in registers if operand.type == CS_OP_REG for spot in reading.register(operand.reg)]
    memory = _memory(reading)
    stored = name.startswith(_STORES)
    if name.startswith("swp"):
        one, other = words
        return (*by_word((one,), (memory,) if memory else ()), *(((memory, (other,)),) if memory else ()))
    if memory is None:
        return cleared if stored else tuple((word, ()) for word in words)
    return (*cleared, *_between(words, memory, stored=stored))


def _memory(reading: Reading) -> MemoryWord | None:
    operand: Any = next(o for o in reading.operands if o.type == CS_OP_MEM)
    base = reading.register(operand.mem.base)[0]
    after = any(o.type in (CS_OP_IMM, CS_OP_REG) for o in reading.operands[reading.operands.index(operand) + 1 :])
    if base == _PC:
        if operand.mem.index:
            return None  # a table behind the instruction: constants
        ahead = 8 if not _thumb(reading) else 4
        return MemoryWord(reading.arch.index[_PC], operand.mem.disp + ahead, aligned=True)
    column = reading.arch.index[base]
    if after or not operand.mem.index:
        return MemoryWord(column, 0 if after else operand.mem.disp)
    if operand.shift.type not in (arm_const.ARM_SFT_INVALID, arm_const.ARM_SFT_LSL):
        return None
    scale = (1 << operand.shift.value) * (-1 if operand.subtracted else 1)
    return MemoryWord(column, 0, reading.column(operand.mem.index), scale, index_bits=32)


def _thumb(reading: Reading) -> bool:
    return bool(
        reading.instruction.group(arm_const.ARM_GRP_THUMB) or reading.instruction.group(arm_const.ARM_GRP_THUMB2)
    )
