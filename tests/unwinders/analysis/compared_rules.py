"""What a table's rules mean in a state of the analysis: right, false, or not known.

Rows are not compared by their looks, `rsp+16` and `rbp+16` may be the same place. A rule of the table is evaluated with
what the analysis knows before the instruction: right if the CFA, or what the register was in the caller, comes out.
"""

from __future__ import annotations

from enum import Enum

from testbed.arch import Arch
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
from unwinders.analysis.abstract_state import CFA, AbstractState, AbstractValue, EntryValue, StackAddress

BREG, DEREF, PLUS = range(0x70, 0x90), 0x06, 0x23  # DWARF 5, section 7.7.1


class Means(Enum):
    """How a rule of the table fares; of `UNSAID` the table says nothing, of `UNKNOWN` the analysis."""

    RIGHT = "the same"
    FALSE = "the analysis says otherwise"
    UNKNOWN = "the analysis does not know"
    UNSAID = "the table does not say"


def cfa_means(arch: Arch, state: AbstractState, rule: Rule | None, other_sps: frozenset[int]) -> Means:
    """The table's CFA. ``other_sps``: SP's distances from the CFA elsewhere in the function, for where it is lost."""
    match rule:
        case RegisterPlus(register, offset):
            value = state.registers.get(register)
            if value is None and register == arch.sp:
                return Means.RIGHT if -offset in other_sps else Means.UNKNOWN
            place = StackAddress(value.base, value.offset + offset) if isinstance(value, StackAddress) else None
            if value is None:
                return Means.UNKNOWN
        case AtRegister(register, offset):
            place = _as_address(_slot(state, _plus(state.registers.get(register), offset)))
        case IsExpression(operations):
            place = _as_address(_evaluated(arch, state, operations))
        case _:
            return Means.UNSAID
    if place is None:
        return Means.FALSE if isinstance(rule, RegisterPlus) else Means.UNKNOWN
    if place.base != CFA:
        return Means.UNKNOWN
    return Means.RIGHT if place.offset == 0 else Means.FALSE


def register_means(arch: Arch, state: AbstractState, row: UnwindRow, register: str) -> Means:
    """The table's rule of one register; no rule: unchanged."""
    rule = row.registers.get(register)
    match rule:
        case Undefined():
            return Means.UNSAID
        case None | SameValue():
            value = state.registers.get(register)
        case AtCfa(offset):
            value = _slot(state, StackAddress(CFA, offset))
        case RegisterPlus(other, 0):
            value = state.registers.get(other)
        case AtRegister(other, offset):
            value = _slot(state, _plus(state.registers.get(other), offset))
        case AtExpression(operations):
            value = _slot(state, _evaluated(arch, state, operations))
        case _:
            return Means.UNSAID
    if isinstance(value, EntryValue) and value.register == register:
        return Means.RIGHT
    return Means.FALSE if register in state.said() else Means.UNKNOWN


def _plus(value: AbstractValue | None, offset: int) -> StackAddress | None:
    return StackAddress(value.base, value.offset + offset) if isinstance(value, StackAddress) else None


def _slot(state: AbstractState, place: AbstractValue | None) -> AbstractValue | None:
    return state.slots.get((place.base, place.offset), (0, None))[1] if isinstance(place, StackAddress) else None


def _as_address(value: AbstractValue | None) -> StackAddress | None:
    return value if isinstance(value, StackAddress) else None


def _evaluated(arch: Arch, state: AbstractState, operations: tuple[Operation, ...]) -> AbstractValue | None:
    """The expressions that compilers write for a realigned stack: a register plus a number, what is there, plus one."""
    top: AbstractValue | None = None
    for operation in operations:
        if operation.opcode in BREG:
            names = [r.name for r in arch.registers if r.dwarf == operation.opcode - BREG.start]
            top = _plus(state.registers.get(names[0]), operation.operands[0]) if names else None
        elif operation.opcode == DEREF:
            top = _slot(state, top)
        elif operation.opcode == PLUS:
            number = operation.operands[0]
            top = _plus(top, number - (1 << 64) if number >> 63 else number)
        else:
            return None
    return top
