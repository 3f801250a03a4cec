"""x86: conditions with two names, operations with an operand that need not be said (Intel 64 manual, volume 2)."""

from __future__ import annotations

import re
from dataclasses import replace

from testbed.build.meanings.operands import InstructionMeaning, Operand, OperandKind, value

_CONDITIONS = "e z,ne nz,b c nae,ae nb nc,be na,a nbe,p pe,np po,l nge,ge nl,le ng,g nle,s,ns,o,no"
_CONDITION = {name: group.split()[0] for group in _CONDITIONS.split(",") for name in group.split()}
_CONDITIONAL = re.compile(r"(j|set|cmov)(\w+)")
_SAME = {
    "sal": "shl", "movabs": "mov", "retq": "ret", "callq": "call", "movsxd": "movsx", "repe": "rep", "repz": "rep",
    "repnz": "repne", "leaveq": "leave", "pushq": "push", "popq": "pop",
}  # fmt: skip
_SHIFTS = frozenset({"shl", "shr", "sar", "rol", "ror", "rcl", "rcr"})
_COMMUTATIVE = frozenset({"test", "xchg"})
_STRING = re.compile(r"(?:rep |repne )?(?:movs|stos|lods|scas|cmps|ins|outs)[bwdq]")
_WIDE = re.compile(r"r(?:[abcd]x|[sd]i|[sb]p|\d+|ip)")
_HALF = re.compile(r"e(?:[abcd]x|[sd]i|[sb]p)|r\d+d")
_WORD = re.compile(r"(?:[abcd]x|[sd]i|[sb]p)|r\d+w")
_REGISTERS = ((_WIDE, 64), (_HALF, 32), (_WORD, 16), (re.compile(r"[abcd][hl]|(?:[sd]i|[sb]p)l|r\d+b"), 8))
_SIZED_BY_ITSELF = frozenset({"push", "pop", "call", "jmp"})


def plain(meaning: InstructionMeaning) -> InstructionMeaning:
    words = [_SAME.get(word, word) for word in meaning.mnemonic.split()]
    name, operands = " ".join(words), list(meaning.operands)
    if (match := _CONDITIONAL.fullmatch(name)) and match[2] in _CONDITION:
        name = match[1] + _CONDITION[match[2]]
    if name in _SHIFTS and len(operands) == 1:
        operands.append(value(1))
    if name == "imul" and len(operands) == 3 and operands[0] == operands[1]:
        del operands[0]
    if name == "int3":
        name, operands = "int", [value(3)]
    if name in _COMMUTATIVE:
        operands.sort(key=repr)
    if name == "xchg" and operands == [Operand(terms=(("ax", 1),))] * 2:
        name, operands = "nop", []
    if name == "movsx" and len(operands) == 2 and operands[1].kind is OperandKind.MEMORY and not operands[1].size:
        operands[1] = replace(operands[1], size=4)  # movsxd
    if _STRING.fullmatch(name):
        operands = []  # nobody writes them, and there is no choice
    if _size_is_open(name, operands):
        name = f"{name} of no size"
    return InstructionMeaning(name, tuple(operands))


def _size_is_open(name: str, operands: list[Operand]) -> bool:
    """``mov [rax], 1``: of one byte or of eight? Assemblers differ."""
    places = [operand for operand in operands if operand.kind is OperandKind.MEMORY and not operand.size]
    numbers = [operand for operand in operands if operand.is_number]
    return (
        bool(places) and len(places) + len(numbers) == len(operands) and bool(numbers) and name not in _SIZED_BY_ITSELF
    )


def width(meaning: InstructionMeaning) -> int:
    """The bits that its numbers have: those of the first operand."""
    first = next(iter(meaning.operands), None)
    if first is None or first.is_number:
        return 64
    if first.size:
        return 8 * first.size
    return next((bits for pattern, bits in _REGISTERS if pattern.fullmatch(first.name)), 64)
