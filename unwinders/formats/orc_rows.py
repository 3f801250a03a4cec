"""One ORC entry as a row: what arch/x86/kernel/unwind_orc.c of Linux does with it, as rules.

With ``p`` what the entry says about the previous SP (register + offset, or what is stored there)::

    call              CFA = p, the return address at CFA - 8
    registers         p is the address of a struct pt_regs with every register of the interrupted code
    interrupt frame   p is the address of its last five words: pc, cs, flags, SP, ss

BP stays what it is, or is stored at an offset from p or from BP. Nothing is said about any other register.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    AtRegister,
    IsExpression,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.words.errors import MalformedTable

_WORD = 8
_PRESERVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
# struct pt_regs: where the interrupted code's registers are.
_STORED = {"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbp": 32, "rbx": 40}
_STORED_PC, _STORED_SP = 128, 152
_FRAME_SP = _STORED_SP - _STORED_PC
_DEREF, _CONSTS, _PLUS, _BREG = 0x06, 0x11, 0x22, 0x70
_BREG_BP, _BREG_SP = _BREG + 6, _BREG + 7


class OrcRegister(IntEnum):
    """ORC_REG_*."""

    NONE = 0
    PREVIOUS_SP = 1
    DX = 2
    DI = 3
    BP = 4
    SP = 5
    R10 = 6
    R13 = 7
    BP_INDIRECT = 8
    SP_INDIRECT = 9


_NAMES = {
    OrcRegister.DX: "rdx",
    OrcRegister.DI: "rdi",
    OrcRegister.BP: "rbp",
    OrcRegister.SP: "rsp",
    OrcRegister.R10: "r10",
    OrcRegister.R13: "r13",
}
_WITHOUT_OFFSET = (
    OrcRegister.DX,
    OrcRegister.DI,
    OrcRegister.R10,
    OrcRegister.R13,
)  # the kernel takes these as they are


class Kind(Enum):
    """What an entry is about, whatever its layout calls it."""

    NOTHING = "nothing is known about this code"
    END = "the outermost frame"
    CALL = "a function"
    REGISTERS = "code that was entered with all registers stored"
    INTERRUPT = "code that was entered with an interrupt frame only"


@dataclass(frozen=True, slots=True)
class OrcEntry:
    """An entry, for the code from the link-time pc ``start`` on; ``offset`` is its place in `.orc_unwind`."""

    offset: int
    start: int
    kind: Kind
    sp: OrcRegister
    sp_offset: int
    bp: OrcRegister
    bp_offset: int
    signal: bool


def entry_row(entry: OrcEntry, end: int, section: str) -> UnwindRow | None:
    """The row of an entry up to ``end``; None where it says that nothing is known.

    Raises MalformedTable where the entry counts from something that it cannot count from.
    """
    if entry.kind is Kind.NOTHING:
        return None
    found_by = f"{section}+{entry.offset:#x}"
    rules: dict[str, Rule]
    if entry.kind is Kind.END:
        return UnwindRow(entry.start, end, None, {"rip": Undefined()}, "rip", found_by=found_by)
    if entry.sp in (OrcRegister.NONE, OrcRegister.PREVIOUS_SP):
        raise MalformedTable(section, entry.offset, f"the previous SP counts from {entry.sp.name}")
    rules = {name: Undefined() for name in _PRESERVED}
    if entry.kind is Kind.CALL:
        cfa = _is(entry, 0)
        rules["rip"] = AtCfa(-_WORD)
    elif entry.kind is Kind.REGISTERS:
        cfa = _stored(entry, _STORED_SP)
        rules |= {name: _stored(entry, at) for name, at in _STORED.items()}
        rules["rip"] = _stored(entry, _STORED_PC)
    else:
        cfa = _stored(entry, _FRAME_SP)
        rules["rip"] = _stored(entry, 0)
    match entry.bp:
        case OrcRegister.NONE:
            if entry.kind is not Kind.REGISTERS:
                rules["rbp"] = SameValue()
        case OrcRegister.PREVIOUS_SP:
            rules["rbp"] = AtCfa(entry.bp_offset) if entry.kind is Kind.CALL else _stored(entry, entry.bp_offset)
        case OrcRegister.BP:
            rules["rbp"] = AtRegister("rbp", entry.bp_offset)
        case _:
            raise MalformedTable(section, entry.offset, f"BP's place counts from {entry.bp.name}")
    return UnwindRow(entry.start, end, cfa, rules, "rip", entry.signal, found_by)


def _is(entry: OrcEntry, distance: int) -> Rule:
    """``p + distance``."""
    if entry.sp is OrcRegister.BP_INDIRECT and not distance:
        return AtRegister("rbp", entry.sp_offset)
    if entry.sp in _NAMES:
        return RegisterPlus(_NAMES[entry.sp], _offset(entry) + distance)
    return IsExpression(_operations(entry, distance))


def _stored(entry: OrcEntry, distance: int) -> Rule:
    """``*(p + distance)``."""
    if entry.sp in _NAMES:
        return AtRegister(_NAMES[entry.sp], _offset(entry) + distance)
    return AtExpression(_operations(entry, distance))


def _offset(entry: OrcEntry) -> int:
    return 0 if entry.sp in _WITHOUT_OFFSET else entry.sp_offset


def _operations(entry: OrcEntry, distance: int) -> tuple[Operation, ...]:
    """``p + distance`` for the indirect ones: ``*(BP + offset)``, and ``*SP + offset`` since Linux 5.12."""
    if entry.sp is OrcRegister.SP_INDIRECT:
        base, inner, outer = _BREG_SP, 0, entry.sp_offset + distance
    else:
        base, inner, outer = _BREG_BP, entry.sp_offset, distance
    return (
        Operation(base, (inner,), 0),
        Operation(_DEREF, (), 0),
        Operation(_CONSTS, (outer,), 0),
        Operation(_PLUS, (), 0),
    )
