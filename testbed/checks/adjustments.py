"""A directive that later ones count from: `.cfi_adjust_cfa_offset`, where one was forgotten.

An assembler adds what such a directive says to the CFA's offset as it stands, and `.cfi_rel_offset` counts from it. So
where one is missing, each that follows is wrong by as much, until a directive says the offset itself. A table has
the sums only: that its changes are right and its offsets are not shows that directives were relative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, FrameState, StatePart
from testbed.checks.source_directives import (
    ADJUST,
    DEF_CFA,
    DEF_CFA_OFFSET,
    REL_OFFSET,
    REMEMBER_STATE,
    parts_of_directive,
    register_of,
)
from testbed.checks.tried_function import THE_CFA, TriedFunction
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import Offset, RegisterPlus, UnwindRow

_OF_NO_REGISTER = (DEF_CFA, ADJUST, REMEMBER_STATE, ".cfi_negate")  # how directives begin


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The CFA's offset ``by`` more from one instruction on, whatever the table says of it later.

    ``states`` are those of the instructions that it reaches, ``fixed`` the ones that become right by it. ``end`` is the
    first that would go wrong; None where the table itself says there what the offset is.
    """

    by: int
    states: Mapping[int, FrameState] = field(repr=False)
    fixed: frozenset[int]
    end: int | None

    @property
    def directive(self) -> str:
        return f"{ADJUST} {self.by:#x}"

    @property
    def closing(self) -> str:
        return f"{ADJUST} {-self.by:#x}"


def adjusted(function: TriedFunction, i: int) -> Adjustment | None:
    """The adjustment that makes the CFA right at an instruction, if it also makes right what the table says later."""
    by = _missing(function, i)
    if by is None:
        return None
    states: dict[int, FrameState] = {}
    fixed, later, end = set[int](), False, None
    said = set[str]()  # what the table says anew behind the instruction; a vector register's slot is not tried
    for j in range(i, len(function)):
        state = function.states[j]
        if j > i:
            if function.begins(j) or function.tried[j].pc in function.counted:
                break
            said |= {part for part in function.sets(j) if part == CFA_OFFSET or part in function.arch.index}
        new = _moved(function, j, by, said)
        if new is None:
            break
        was, still = function.is_wrong(j, THE_CFA, state), function.is_wrong(j, THE_CFA, new)
        if still and not was:
            end = None if function.sets(j) & {CFA_OFFSET} or function.may_set(j) else j
            break
        states[j] = new
        if function.wrong(j, new) < function.wrong(j, state):
            fixed.add(j)
            later |= CFA_OFFSET in said or any(_is_repaired(function, j, name, new) for name in said & state.keys())
    return Adjustment(by, states, frozenset(fixed), end) if later else None


def counted_from(
    advised: Sequence[str],
    standing: Sequence[str],
    rows: Mapping[int, UnwindRow | None],
    true: Mapping[int, ObservedRow],
) -> tuple[tuple[str, ...], str] | None:
    """The advice without what a `.cfi_rel_offset` says by itself behind the missing adjustment, and the first of these.

    None where there is none, or where it would say something wrong.

    ``rows`` and ``true`` are those of the instructions from the adjustment on, in order.
    """
    relative = [each for each in standing if each.startswith(f"{REL_OFFSET} ")]
    by = _by(advised[0], next(iter(rows.values()), None))
    if not by or not relative or any(each.startswith(f"{ADJUST} ") for each in standing):
        return None
    registers = {register_of(each) for each in relative}
    for register in registers:
        said = [(pc, row.registers.get(register)) for pc, row in rows.items() if row is not None]
        first = said[0][1] if said else None
        for pc, rule in said:
            if rule != first or not isinstance(rule, Offset):
                break
            place = true[pc].places.get(register)
            if place is None or rule.offset - by not in place.offsets:
                return None
    left = tuple(each for each in advised if each.startswith(_OF_NO_REGISTER) or register_of(each) not in registers)
    return left, relative[0]


def _by(directive: str, row: UnwindRow | None) -> int:
    """By how much a directive changes the CFA's offset that a row has; 0 where that is not known."""
    name, arguments = parts_of_directive(directive)
    if name == ADJUST:
        return int(arguments[0], 0)
    if name != DEF_CFA_OFFSET or row is None or not isinstance(row.cfa, RegisterPlus):
        return 0
    return int(arguments[0], 0) - row.cfa.offset


def _missing(function: TriedFunction, i: int) -> int | None:
    state = function.states[i]
    base, offset = state.get(CFA_REGISTER), state.get(CFA_OFFSET)
    true = function.tried[i].true.cfa.get(base) if isinstance(base, str) else None
    return true - offset if true is not None and isinstance(offset, int) and true != offset else None


def _is_repaired(function: TriedFunction, j: int, name: str, new: FrameState) -> bool:
    return new[name] != function.states[j][name] and not function.is_wrong(j, name, new)


def _moved(function: TriedFunction, j: int, by: int, said: set[str]) -> FrameState | None:
    """A state with another offset of the CFA, and with it the wrong slots that were said from there."""
    state = function.states[j]
    offset = state.get(CFA_OFFSET)
    if not isinstance(offset, int):
        return None
    new: dict[str, StatePart] = {**state, CFA_OFFSET: offset + by}
    for name in said & state.keys():
        rule = state[name]
        if isinstance(rule, Offset) and function.is_wrong(j, name, state):
            new[name] = Offset(rule.offset - by)
    return new
