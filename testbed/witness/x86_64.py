"""What x86_64's instructions do to values that are followed. Source: Intel SDM, volume 2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from capstone import CS_GRP_CALL, CS_GRP_JUMP, CS_GRP_RET, CS_OP_MEM, CS_OP_REG, x86_const

from testbed.witness.operands import Reading, by_word, moved, reads, writes, written
from testbed.witness.passage import Carry, Flow, MemoryWord, Passage, Spot

_WIDE = re.compile(r"([xyz])mm(\d+)$")
_WORDS = {"x": 2, "y": 4, "z": 8}
_FLAGS = ("rflags", "rip", "rsp")
_STRINGS = ("lods", "stos", "scas", "cmps", "ins", "outs")  # they go on along rsi and rdi
_ALONG = ("rsi", "rdi")
_WORD = 8


_PARTS = {
    **{p: f"r{letter}x" for letter in "abcd" for p in (f"e{letter}x", f"{letter}x", f"{letter}h", f"{letter}l")},
    **{part: f"r{name}" for name in ("si", "di", "bp", "sp") for part in (f"e{name}", name, f"{name}l")},
    **{f"r{i}{part}": f"r{i}" for i in range(8, 16) for part in "dwb"},
}


def words(name: str) -> tuple[str, ...]:
    """The words of a register; a part of one is the whole of it."""
    match = _WIDE.match(name)
    if match is None:
        return (_PARTS.get(name, name),)
    first = f"xmm{match[2]}"
    return (first, *(f"{first}+{_WORD * i}" for i in range(1, _WORDS[match[1]])))


def effect(reading: Reading) -> Passage:
    """The effect of one instruction."""
    instruction = reading.instruction
    if instruction.group(CS_GRP_CALL):
        return Passage(flow=Flow.CALL, target=_target(reading), direct=reading.immediate)
    if instruction.group(CS_GRP_RET):
        return Passage(flow=Flow.JUMP, target=_stack(reading, 0))
    if instruction.group(CS_GRP_JUMP):
        return Passage(flow=Flow.JUMP, target=_target(reading), direct=reading.immediate)
    name = instruction.mnemonic.split()[-1]
    special = _SPECIAL.get(name)
    if name.startswith("movs") and instruction.id in _STRING_MOVES:
        return Passage(by_word(*(_spots(reading, operand) for operand in reading.operands)))
    moves = _general(reading) if special is None else special(reading)
    return Passage(moves, chosen=name.startswith("cmov"), difference=name in ("sub", "sbb"))


_STRING_MOVES = frozenset(
    (x86_const.X86_INS_MOVSB, x86_const.X86_INS_MOVSW, x86_const.X86_INS_MOVSD, x86_const.X86_INS_MOVSQ)
)


def _general(reading: Reading) -> tuple[Carry, ...]:
    """What is written comes from what is read; what is written besides the operands comes from nowhere."""
    operands, name = reading.operands, reading.instruction.mnemonic
    to, read = ([operand for operand in operands if what(operand)] for what in (writes, reads))
    if not to and name.startswith("mov") and not name.startswith("movh"):
        to, read = operands[:1], operands[1:]  # capstone 5 says of `movups [m], xmm` that it reads both
    sources = [_spots(reading, operand) for operand in read]
    same = len(operands) == 2 and all(o.type == CS_OP_REG for o in operands) and operands[0].reg == operands[1].reg
    if same and name in ("xor", "sub", "pxor", "xorps", "xorpd", "vpxor"):
        sources = []  # nothing is left of the value
    if name in ("imul", "mulx"):
        sources = []  # the multiple of an address is none
    along = _ALONG if name.split()[-1].startswith(_STRINGS) else ()
    return written(reading, [_spots(reading, operand) for operand in to], sources, kept=(*along, *_FLAGS))


def _spots(reading: Reading, operand: Any) -> tuple[Spot, ...]:
    return reading.spots(operand, _memory(reading, operand), operand.size)


def _memory(reading: Reading, operand: Any) -> MemoryWord | None:
    if operand.type != CS_OP_MEM:
        return None
    memory = operand.mem
    if memory.segment in (x86_const.X86_REG_FS, x86_const.X86_REG_GS):
        return None  # the base of a segment is no register of a trace
    if memory.base == x86_const.X86_REG_RIP:
        return MemoryWord(None, reading.after + memory.disp)
    return MemoryWord(reading.column(memory.base), memory.disp, reading.column(memory.index), memory.scale)


def _stack(reading: Reading, offset: int) -> MemoryWord:
    return MemoryWord(reading.arch.index["rsp"], offset)


def _target(reading: Reading) -> Spot | None:
    return next(iter(_spots(reading, reading.operands[0])), None) if reading.operands else None


def _push(reading: Reading) -> tuple[Carry, ...]:
    return by_word((_stack(reading, -_WORD),), _spots(reading, reading.operands[0]))


def _pop(reading: Reading) -> tuple[Carry, ...]:
    operand = reading.operands[0]
    to = _spots(reading, operand)
    if operand.type == CS_OP_MEM and operand.mem.base == x86_const.X86_REG_RSP:  # computed when SP has moved
        to = tuple(moved(spot, _WORD) for spot in to if isinstance(spot, MemoryWord))
    return by_word(to, (_stack(reading, 0),))


def _leave(reading: Reading) -> tuple[Carry, ...]:
    saved = MemoryWord(reading.arch.index["rbp"], 0)
    return (("rsp", ("rbp",)), ("rbp", (saved,)))


def _enter(reading: Reading) -> tuple[Carry, ...]:
    return ((_stack(reading, -_WORD), ("rbp",)), ("rbp", ("rsp",)))


def _exchange(reading: Reading) -> tuple[Carry, ...]:
    one, other = (_spots(reading, operand) for operand in reading.operands)
    return (*by_word(one, other), *by_word(other, one))


def _exchange_and_add(reading: Reading) -> tuple[Carry, ...]:
    one, other = (_spots(reading, operand) for operand in reading.operands)
    return (*by_word(one, one, other), *by_word(other, one))


def _compare_and_exchange(reading: Reading) -> tuple[Carry, ...]:
    """Capstone 5 says of none of the three that it is written."""
    one, other = (_spots(reading, operand) for operand in reading.operands)
    return (*by_word(one, one, other), *by_word(("rax",), ("rax",), one))


def _nothing_left(*names: str) -> Callable[[Reading], tuple[Carry, ...]]:
    """What becomes of registers that Capstone does not name: another value."""
    return lambda reading: tuple((name, ()) for name in names)


def _address(reading: Reading) -> tuple[Carry, ...]:
    """``lea``: what the address is computed from is what the value comes from."""
    to, memory = reading.operands
    parts = [reading.register(n) for n in (memory.mem.base, memory.mem.index) if n not in (0, x86_const.X86_REG_RIP)]
    return by_word(_spots(reading, to), *parts)


_SPECIAL = {
    "push": _push,
    "pop": _pop,
    "leave": _leave,
    "enter": _enter,
    "xchg": _exchange,
    "xadd": _exchange_and_add,
    "lea": _address,
    "cmpxchg": _compare_and_exchange,
    "xlatb": _nothing_left("rax"),
    **dict.fromkeys(("pcmpestrm", "pcmpistrm"), _nothing_left("xmm0", "xmm0+8")),
    # Its result, and where the processor keeps pc and flags meanwhile; Linux keeps all else.
    "syscall": _nothing_left("rax", "rcx", "r11"),
}
