"""A64: preferred names and what they stand for (Arm Architecture Reference Manual for A-profile, C6.2)."""

from __future__ import annotations

import re

from testbed.build.keystone_isas import HINTS
from testbed.build.meanings.operands import InstructionMeaning, Operand, OperandKind, register, value

_NAMES = "eq ne cs cc mi pl vs vc hi ls ge lt gt le"
_CONDITIONS = tuple(_NAMES.split())
_OPPOSITE = {
    a: b
    for i in range(0, 14, 2)
    for a, b in ((_CONDITIONS[i], _CONDITIONS[i + 1]), (_CONDITIONS[i + 1], _CONDITIONS[i]))
}
_SAME_CONDITION = {"hs": "cs", "lo": "cc"}
_BRANCH = re.compile(rf"b\.?({'|'.join((*_CONDITIONS, *_SAME_CONDITION))})")
_UNSCALED = re.compile(r"(ld|st)ur(\w*)")
_HINT_NUMBERS = {"nop": 0, "yield": 1, "wfe": 2, "wfi": 3, "sev": 4, "sevl": 5, **HINTS}
_SAME = {"lslv": "lsl", "lsrv": "lsr", "asrv": "asr", "rorv": "ror", "umov": "mov"}

# Alias, what it stands for, and which of its operands or "z" (the zero register of the first operand's width).
_STANDS_FOR = {
    name: (base, places.split())
    for name, base, places in (
        ("cmp", "subs", "z 0 *"), ("cmn", "adds", "z 0 *"), ("tst", "ands", "z 0 *"), ("neg", "sub", "0 z *"),
        ("negs", "subs", "0 z *"), ("ngc", "sbc", "0 z *"), ("ngcs", "sbcs", "0 z *"), ("mvn", "orn", "0 z *"),
        ("mul", "madd", "0 1 2 z"), ("mneg", "msub", "0 1 2 z"), ("smull", "smaddl", "0 1 2 z"),
        ("umull", "umaddl", "0 1 2 z"), ("smnegl", "smsubl", "0 1 2 z"), ("umnegl", "umsubl", "0 1 2 z"),
        ("cset", "csinc", "0 z z !1"), ("csetm", "csinv", "0 z z !1"), ("cinc", "csinc", "0 1 1 !2"),
        ("cinv", "csinv", "0 1 1 !2"), ("cneg", "csneg", "0 1 1 !2"),
    )
}  # fmt: skip


def plain(meaning: InstructionMeaning) -> InstructionMeaning:
    name = _SAME.get(meaning.mnemonic, meaning.mnemonic)
    operands = [_condition(operand) for operand in meaning.operands if not _is_no_shift(operand)]
    if (match := _BRANCH.fullmatch(name)) is not None:
        name = "b." + _SAME_CONDITION.get(match[1], match[1])
    name = _UNSCALED.sub(r"\1r\2", name)
    hint = " ".join((name, *(operand.name for operand in operands)))
    if hint in _HINT_NUMBERS:
        return InstructionMeaning("hint", (value(_HINT_NUMBERS[hint]),))
    if name == "ret" and not operands:
        operands = [register("x30")]
    if name in _STANDS_FOR and operands and operands[0].name[:1] in "wxs" and operands[0].name:
        name, operands = _replaced(name, operands)
    if (
        name in ("tbz", "tbnz")
        and len(operands) == 3
        and operands[0].name.startswith("x")
        and (operands[1].number or 0) < 32
    ):
        operands[0] = register("w" + operands[0].name[1:])  # the lower half has that bit too
    for rule in (_bit_field, _moved, _immediate):
        name, operands = rule(name, operands)
    if len(operands) > 2 and operands[0] == operands[1] and name.startswith(_TWO_OPERANDS):
        del operands[0]
    return InstructionMeaning(name, tuple(operands))


_TWO_OPERANDS = ("add", "sub", "and", "orr", "eor", "lsl", "lsr", "asr", "ror")


def _condition(operand: Operand) -> Operand:
    return register(_SAME_CONDITION[operand.name]) if operand.name in _SAME_CONDITION else operand


def _is_no_shift(operand: Operand) -> bool:
    return operand.name in ("lsl", "uxtx") and operand.number == 0


def _zero(like: Operand) -> Operand:
    return register("wzr" if like.name.startswith("w") else "xzr")


def _replaced(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    base, places = _STANDS_FOR[name]
    made: list[Operand] = []
    for place in places:
        if place == "*":
            made += operands[sum(p.isdigit() for p in places) :]
        elif place == "z":
            made.append(_zero(operands[0]))
        elif int(place.removeprefix("!")) >= len(operands):
            return name, operands
        else:
            operand = operands[int(place.removeprefix("!"))]
            made.append(register(_OPPOSITE.get(operand.name, operand.name)) if place[0] == "!" else operand)
    return base, made


def _x(operand: Operand, like: Operand) -> Operand:
    """The source of an extension, ``sxtw x0, w1``, in the width of what is written."""
    return register(like.name[0] + operand.name[1:]) if operand.name[:1] in ("w", "x") else operand


_EXTENSIONS = {
    "sxtb": ("sbfm", 7),
    "sxth": ("sbfm", 15),
    "sxtw": ("sbfm", 31),
    "uxtb": ("ubfm", 7),
    "uxth": ("ubfm", 15),
}


def _bit_field(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """Extensions, shifts by a number and bit fields are one instruction: sbfm, ubfm or bfm."""
    numbers = [operand.number for operand in operands if operand.is_number and operand.number is not None]
    if not operands or operands[0].name[:1] not in ("w", "x"):
        return name, operands
    bits = 32 if operands[0].name.startswith("w") else 64
    if name in _EXTENSIONS and len(operands) == 2 and not numbers:
        base, last = _EXTENSIONS[name]
        return base, [operands[0], _x(operands[1], operands[0]), value(0), value(last)]
    if name in ("lsl", "lsr", "asr", "ror") and len(operands) == 2 and numbers:
        operands = [operands[0], *operands]
    if name in ("lsl", "lsr", "asr") and len(operands) == 3 and numbers:
        by = numbers[0]
        first, last = (-by % bits, bits - 1 - by) if name == "lsl" else (by, bits - 1)
        return ("sbfm" if name == "asr" else "ubfm"), [*operands[:2], value(first), value(last)]
    if name == "ror" and len(operands) == 3 and numbers:
        return "extr", [operands[0], operands[1], operands[1], operands[2]]
    if len(numbers) == 2 and name in ("ubfx", "sbfx", "bfxil", "ubfiz", "sbfiz", "bfi"):
        low, count = numbers
        places = (low, low + count - 1) if name.endswith(("x", "xil")) else (-low % bits, count - 1)
        return name.rstrip("xilz") + "m", [*operands[:2], *map(value, places)]
    return name, operands


def _moved(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """``mov`` of a register, of SP or of a number; ``movz``, ``movn`` and ``orr`` with the zero register."""
    if len(operands) < 2 or operands[0].kind is not OperandKind.VALUE:
        return name, operands
    target, rest = operands[0], operands[1:]
    mask = (1 << (32 if target.name.startswith("w") else 64)) - 1
    if name in ("movz", "movn") and rest[0].number is not None:
        number = rest[0].number << (rest[1].number or 0 if len(rest) > 1 else 0)
        return "mov", [target, value((~number if name == "movn" else number) & mask)]
    if name == "mov" and rest[0].is_number and rest[0].number is not None:
        return "mov", [target, value(rest[0].number & mask)]
    if name == "orr" and len(rest) == 2 and (rest[0] == _zero(target) or (rest[0] == rest[1] and "." in target.name)):
        return "mov", [target, rest[1]]
    if name == "add" and len(rest) == 2 and rest[1] == value(0) and {"sp", "wsp"} & {target.name, rest[0].name}:
        return "mov", [target, rest[0]]
    return name, operands


def _immediate(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """``#1, lsl #12`` is 0x1000; taking a number away is adding its negative."""
    if name not in ("add", "sub", "adds", "subs"):
        return name, operands
    if len(operands) > 2 and operands[-2].is_number and operands[-1].name == "lsl":
        operands = [*operands[:-2], value((operands[-2].number or 0) << (operands[-1].number or 0))]
    if operands[-1].name == "uxtx":
        operands = [*operands[:-1], Operand(terms=(("lsl", 1),), number=operands[-1].number)]
    last = operands[-1].number if operands[-1].is_number else None
    if name.startswith("sub") and last:
        return name.replace("sub", "add"), [*operands[:-1], value(-last)]
    return name, operands


def width(meaning: InstructionMeaning) -> int:
    """The bits that its numbers have: those of the register that is written."""
    first = next(iter(meaning.operands), None)
    return 32 if first is not None and first.name.startswith("w") else 64
