"""A32 and T32: conditions, stack operations and shifts by all their names (Arm Architecture Reference Manual, F5.1)."""

from __future__ import annotations

import re
from dataclasses import replace

from testbed.build.meanings.operands import InstructionMeaning, Operand, OperandKind, register, value

_NAMES = "eq ne cs hs cc lo mi pl vs vc hi ls ge lt gt le al"
_CONDITIONS = tuple(_NAMES.split())
_SAME_CONDITION = {"hs": "cs", "lo": "cc", "al": ""}
_ARITHMETIC = "add adc sub sbc rsb rsc and orr orn eor bic mov mvn mul mla lsl lsr asr ror rrx neg"
_DATA = tuple(_ARITHMETIC.split())
# Mnemonics that end like a condition, and have none.
_ENDING_SO = """
teq mls svc movs bics adcs sbcs rscs lsls muls smlal umlal smlals umlals umulls smulls hvc vceq vcge vcgt vcle vclt
vacge vacgt vmls vnmls vfms vfnms vmlal vabal vpadal vqdmlal
"""
_WHOLE = frozenset(_ENDING_SO.split())
_OLD_ORDER = re.compile(rf"({'|'.join(_DATA)})({'|'.join(_CONDITIONS)})s")
_TRANSFER = re.compile(r"(v|f)?(ldm|stm)(ia|ib|da|db|fd|fa|ed|ea)?([xsd])?")
_STACK = {
    "ldm": {"fd": "ia", "ed": "ib", "fa": "da", "ea": "db", "": "ia"},
    "stm": {"fd": "db", "ed": "da", "fa": "ib", "ea": "ia", "": "ia"},
}
_SP = replace(register("sp"), writes_back=True)
_SAME = {
    "swi": "svc", "addw": "add", "subw": "sub", "movw": "mov", "cpsr": "apsr", "apsr_nzcvq": "cpsr_f", "asl": "lsl",
    "apsr_nzcv": "cpsr_f", "cpsr_fc": "cpsr_cf",
}  # fmt: skip
_SHIFTS = ("lsl", "lsr", "asr", "ror")
_OPPOSITE = {"sub": "add", "subs": "adds", "cmn": "cmp"}
_NEGATED = {"mvn": "mov", "bic": "and", "bics": "ands", "orn": "orr", "orns": "orrs"}
_BARRIERS = frozenset({"dmb", "dsb", "isb"})
_MASK = (1 << 32) - 1


def plain(meaning: InstructionMeaning) -> InstructionMeaning:
    name, _, kind = meaning.mnemonic.partition(".")
    kind = "" if kind in ("w", "n") else "." + kind.removesuffix(".w") if kind else ""
    name, condition = _condition(name)
    operands = [register(_SAME[o.name]) if o.name in _SAME else o for o in meaning.operands]
    operands = [operand for operand in operands if not (operand.name == "lsl" and operand.number == 0)]
    name = _SAME.get(name, name)
    if name == "vorr" and len(operands) == 3 and operands[1] == operands[2]:
        name, operands = "vmov", operands[:2]
    if name.startswith(("ldr", "str")) and len(operands) == 3 and operands[2] == value(0):
        operands = operands[:2]  # ldrt r0, [r1], #0
    for rule in (_transfer, _shift, _two, _number):
        name, operands = rule(name, operands)
    if name in _BARRIERS and not operands:
        operands = [register("sy")]
    return InstructionMeaning(f"{name}{kind} {condition}".strip(), tuple(operands))


def _condition(name: str) -> tuple[str, str]:
    """A mnemonic without its condition, and that. ``addeqs`` is the older order of ``addseq``."""
    if (old := _OLD_ORDER.fullmatch(name)) and name not in _WHOLE:
        return old[1] + "s", _SAME_CONDITION.get(old[2], old[2])
    if name[-2:] in _CONDITIONS and name not in _WHOLE and len(name) > 2:
        return name[:-2], _SAME_CONDITION.get(name[-2:], name[-2:])
    return name, ""


def _transfer(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """Loads and stores of lists: ``push {r4}`` is ``stmdb sp!, {r4}`` is ``str r4, [sp, #-4]!``."""
    if name in ("push", "pop", "vpush", "vpop") and len(operands) == 1:
        how = "stmdb" if name.endswith("push") else "ldmia"
        name, operands = ("v" if name.startswith("v") else "") + how, [_SP, *operands]
    match = _TRANSFER.fullmatch(name)
    if match is None or len(operands) != 2 or operands[1].kind is not OperandKind.LIST:
        return name, operands
    vector, action, mode = match[1], match[2], match[3] or ""
    mode = _STACK[action].get(mode, mode)
    base, names = operands[0], operands[1].terms
    if vector or len(names) > 1 or names[0][0] == base.name:
        return ("v" if vector else "") + action + mode, operands
    # One register: an ordinary load or store.
    step = 4 if mode[0] == "i" else -4
    place = register(base.name)
    at = replace(place, writes_back=False)
    before = Operand(OperandKind.MEMORY, parts=(at, value(step)), writes_back=base.writes_back)
    behind = Operand(OperandKind.MEMORY, parts=(at,))
    ending = [before] if mode[1] == "b" else [behind, value(step)] if base.writes_back else [behind]
    return ("ldr" if action == "ldm" else "str"), [register(names[0][0]), *ending]


def _shift(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """``mov r0, r1, lsl #2`` is ``lsl r0, r1, #2``; a shift left by 0 is a move."""
    flags = name[3:]
    if name in ("mov", "movs") and len(operands) == 3 and operands[2].terms:
        shift = next((term for term, _ in operands[2].terms if term in _SHIFTS), "")
        by = [register(term) for term, _ in operands[2].terms if term != shift]
        if shift:
            return shift + flags, [*operands[:2], *(by or [value(operands[2].number or 0)])]
        if operands[2].name == "rrx":
            return "rrx" + flags, operands[:2]
    if name in ("lsl", "lsls") and len(operands) == 3 and operands[2] == value(0):
        return "mov" + flags, operands[:2]
    return name, operands


def _two(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """``add r0, r1`` is ``add r0, r0, r1``; the factors of a product may be exchanged."""
    if name in ("neg", "negs"):
        return "rsb" + name[3:], [*operands, value(0)]
    if name in ("mul", "muls"):
        if len(operands) == 2:
            operands = [operands[0], *operands]
        return name, [operands[0], *sorted(operands[1:], key=repr)]
    if len(operands) > 2 and operands[0] == operands[1]:
        return name, operands[1:]
    return name, operands


def _number(name: str, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """Numbers in one form: taking away is adding the negative, ``bic`` is ``and`` with the others of 32 bits."""
    if len(operands) > 2 and operands[-1].is_number and operands[-2].is_number and _base(name) in _DATA:
        number, by = operands[-2].number or 0, (operands[-1].number or 0) % 32
        turned = (number >> by | number << (32 - by)) & _MASK
        operands = [*operands[:-2], value(turned)]
    if not operands or not operands[-1].is_number or not operands[-1].number:
        if name == "mvn" and operands and operands[-1] == value(0):
            return "mov", [*operands[:-1], value(_MASK)]
        return name, operands
    number = operands[-1].number
    if name in _OPPOSITE and len(operands) > 1:
        return _OPPOSITE[name], [*operands[:-1], value(-number)]
    if name in _NEGATED:
        return _NEGATED[name], [*operands[:-1], value(~number & _MASK)]
    return name, operands


def _base(name: str) -> str:
    return name.removesuffix("s")
