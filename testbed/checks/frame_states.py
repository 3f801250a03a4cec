"""The state of call frame information at an instruction, and the directives that change one state into another.

A state has parts: the CFA's register and its offset, the rule of each register, and whether the return address is
signed. A directive changes some parts from its place on, until the table itself changes the same part again.
`.cfi_negate_ra_state` sets nothing: it flips whether the return address is signed, to the end of the FDE.

Source: DWARF 5, section 6.4.2; AADWARF64, section 4.2; the manual of GNU as, "CFI directives".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.contract.rows import RA_SIGNED, Offset, RegisterPlus, RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import Convention

# Parts of a state that are no registers.
CFA_REGISTER, CFA_OFFSET, SIGNED = "CFA register", "CFA offset", "signed"
CFA_PARTS = (CFA_REGISTER, CFA_OFFSET)

StatePart = Rule | str | int | bool | None
FrameState = Mapping[str, StatePart]


def state_of(row: UnwindRow, convention: Convention) -> FrameState:
    """A row's state. A CFA that is not a register and an offset is its "register" as a whole."""
    rules: dict[str, StatePart] = {name: rule for name, rule in row.registers.items() if name != RA_SIGNED}
    # A rule that only repeats the convention is left out.
    for name in (*convention.judged, convention.arch.link or ""):
        if rules.get(name) == SameValue():
            del rules[name]
    register, offset = (row.cfa.register, row.cfa.offset) if isinstance(row.cfa, RegisterPlus) else (row.cfa, None)
    return {CFA_REGISTER: register, CFA_OFFSET: offset, SIGNED: row.is_signed, **rules}


def cfa_of(state: FrameState) -> Rule | None:
    """The CFA's rule."""
    register, offset = state.get(CFA_REGISTER), state.get(CFA_OFFSET)
    if isinstance(register, str) and isinstance(offset, int):
        return RegisterPlus(register, offset)
    return None if register is None or isinstance(register, str | int) else register


def changed(before: FrameState, after: FrameState) -> frozenset[str]:
    """The parts in which two states differ."""
    return frozenset(part for part in before.keys() | after.keys() if before.get(part) != after.get(part))


def directives(before: FrameState, after: FrameState, arch: Arch) -> tuple[str, ...]:
    """The directives that make one state of the other. Raises ValueError for a rule that no directive here says."""
    return tuple(_directives(before, after, arch))


def _directives(before: FrameState, after: FrameState, arch: Arch) -> Iterator[str]:
    parts = changed(before, after)
    if parts & {*CFA_PARTS}:
        cfa = cfa_of(after)
        if not isinstance(cfa, RegisterPlus):
            raise ValueError(f"no directive for {cfa}")
        if CFA_REGISTER not in parts:
            yield f".cfi_def_cfa_offset {cfa.offset:#x}"
        elif CFA_OFFSET not in parts:
            yield f".cfi_def_cfa_register {cfa.register}"
        else:
            yield f".cfi_def_cfa {cfa.register}, {cfa.offset:#x}"
    for name in sorted(parts - {*CFA_PARTS, SIGNED}, key=lambda name: arch.index.get(name, -1)):
        match after.get(name):
            case Offset(offset):
                yield f".cfi_offset {name}, {offset:#x}"
            case RegisterPlus(register, 0):
                yield f".cfi_register {name}, {register}"
            case Undefined():
                yield f".cfi_undefined {name}"
            case SameValue():
                yield f".cfi_same_value {name}"
            case None:
                yield f".cfi_restore {name}"
            case rule:
                raise ValueError(f"no directive for {rule}")
    if SIGNED in parts:
        yield ".cfi_negate_ra_state"


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A row's pcs and state. ``sets`` are the parts that the table says anew where the span begins; ``begins``: all."""

    start: int
    end: int
    row: UnwindRow
    state: FrameState
    sets: frozenset[str]
    begins: bool


def state_spans(table: RowTable, start: int, end: int, convention: Convention) -> list[StateSpan]:
    """The rows of some code, each with what it changes. Rows that another entry of the table made begin anew."""
    found: list[StateSpan] = []
    for row in table.between(start, end):
        state = state_of(row, convention)
        last = found[-1] if found else None
        follows = last is not None and last.end == row.start and last.row.found_by == row.found_by
        sets = changed(last.state, state) if last is not None and follows else frozenset(state)
        found.append(StateSpan(row.start, row.end, row, state, sets, not follows))
    return found
