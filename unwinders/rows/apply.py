"""One row applied to one frame of one snapshot: the caller's registers, or why they cannot be had.

The rules are those of `unwinders.rows.native.row`. Here is what the sweep over traces leaves out, too: DWARF
expressions, and the frames of signals.

With the rules of `testbed.contract.rows`::

    CFA               = the row's CFA rule on this frame's registers
    caller's register = its rule; without one, what the ABI says: callee-saved registers keep their value,
                        SP is the CFA, everything else is unknown
    caller's pc       = the code address that the return-address register's recovered value names; where the row
                        says that it is signed, without its signature, whose bits the snapshot knows (AADWARF64,
                        section 4.2: RA_SIGN_STATE)

The return address without a rule is still in the link register, where the architecture has one. The link register
itself is unknown in a caller: the call has overwritten it. Only a signal's frame can know what it held.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from testbed.arch import Arch
from testbed.contract.coded import coded_rule, register_rules, return_address_rule
from testbed.contract.native import EncodedRule
from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Operation,
    RegisterPlus,
    Rule,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.contract.unwinder import Frame, FrameKind
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory, UnsupportedRule, UnwindError
from unwinders.rows.expression import ExpressionSteps, evaluate
from unwinders.rows.native.codes import FrameRegisters
from unwinders.rows.native.row import LIES_AT, NO_CFA, VALUE, says


@np.errstate(over="ignore")  # addresses wrap around
def apply(
    row: UnwindRow, frame: Frame, snapshot: Snapshot, bias: int = 0, steps: ExpressionSteps | None = None
) -> tuple[int | None, Frame | None]:
    """This frame's CFA and its caller; no caller where the row says that this is the root.

    ``bias`` is the load bias of the image that the row came from; ``steps`` are those that expressions may still take.

    Raises UnknownRegister, UnreadableMemory or UnsupportedRule where the CFA or the return address cannot be had,
    NoUnwindInfo where the row does not say where the return address is. Another register that cannot be had is unknown
    in the caller.
    """
    if row.outermost_if_zero is not None and frame.registers.get(row.outermost_if_zero) == 0:
        return None, None
    arch = snapshot.arch
    coded = coded_row(row, arch)
    facts = _FrameFacts(state_of(frame, arch), frame.registers, snapshot, bias, steps or ExpressionSteps())
    if coded.address.rule is None:
        raise NoUnwindInfo(f"the row has no rule for the return address in {row.return_address}")
    if isinstance(coded.address.rule, Undefined):
        return _root_cfa(coded, facts), None
    cfa = None if coded.cfa.rule is None else facts.value(coded.cfa)
    if cfa is not None:
        facts = facts._replace(frame=facts.frame._replace(cfa=np.uint64(cfa), cfa_known=True))
    return_address = facts.value(coded.address)
    pc = snapshot.without_signature(return_address) if row.is_signed else arch.code_address(return_address)
    registers: dict[str, int] = {}
    for rule in coded.registers:
        try:
            registers[rule.name] = facts.value(rule)
        except (UnknownRegister, UnreadableMemory, UnsupportedRule):
            continue
    registers[arch.pc] = pc
    kind = FrameKind.INTERRUPTED if row.signal_frame else FrameKind.CALLER
    return cfa, Frame(kind, pc, registers)


class _NamedRule(NamedTuple):
    """A rule as it reads and as `unwinders.rows.native.row` sees it, and for which register; the CFA's has no name."""

    name: str
    rule: Rule | None
    code: EncodedRule


class EncodedRow(NamedTuple):
    """The rules of a row, by the places of a frame's registers. What is undefined is no rule."""

    row: UnwindRow
    cfa: _NamedRule
    address: _NamedRule
    registers: tuple[_NamedRule, ...]


_CODED: dict[tuple[int, Arch], EncodedRow] = {}  # by identity: rows hold dictionaries
_MOST_CODED = 4096


def coded_row(row: UnwindRow, arch: Arch) -> EncodedRow:
    """A row's rules, coded. They are kept: a walk comes to the same rows again and again."""
    known = _CODED.get((id(row), arch))
    if known is None or known.row is not row:
        if len(_CODED) >= _MOST_CODED:
            _CODED.clear()
        default = {arch.sp: Undefined() if row.cfa is None else ValOffset(0)}
        rules = default | register_rules(row, arch)
        known = _CODED[id(row), arch] = EncodedRow(
            row,
            _named("", row.cfa, arch),
            _named(row.return_address, return_address_rule(row, arch), arch),
            tuple(_named(name, rule, arch) for name, rule in rules.items() if not isinstance(rule, Undefined)),
        )
    return known


def _named(name: str, rule: Rule | None, arch: Arch) -> _NamedRule:
    size = arch.by_name[name].bits // 8 if name in arch.by_name else arch.word
    return _NamedRule(name, rule, coded_rule(rule, name, places(arch), size))


@lru_cache
def places(arch: Arch) -> Mapping[str, int]:
    """Where the registers of a frame are: SP and the frame pointers first."""
    return {name: i for i, name in enumerate(dict.fromkeys((arch.sp, *arch.frame_pointers, *arch.index)))}


def state_of(frame: Frame, arch: Arch, cfa: int | None = None) -> FrameRegisters:
    """A frame as `unwinders.rows.native.row` sees it."""
    place, known = places(arch), 0
    values = [0] * len(place)
    for name, value in frame.registers.items():
        values[place[name]] = value
        known |= 1 << place[name]
    return FrameRegisters(np.array(values, np.uint64), np.uint64(known), np.uint64(cfa or 0), cfa is not None)


def _root_cfa(coded: EncodedRow, facts: _FrameFacts) -> int | None:
    """The outermost frame's CFA leads nowhere, so it may as well be unknown."""
    try:
        return None if coded.cfa.rule is None else facts.value(coded.cfa)
    except UnwindError:
        return None


class _FrameFacts(NamedTuple):
    """What rules are evaluated on: one frame's registers, and its CFA once it is known; and the memory."""

    frame: FrameRegisters
    registers: Mapping[str, int]
    snapshot: Snapshot
    bias: int
    steps: ExpressionSteps

    def value(self, named: _NamedRule) -> int:
        """What a rule says the caller's register is, cut to its width, or what the CFA is. Raises as `apply` does."""
        name, rule, code = named
        if isinstance(rule, ValExpression):
            return self._computed(rule.operations)
        if isinstance(rule, ExpressionRule):
            return self._read(self._computed(rule.operations), code.size)
        how, said = says(code, self.frame, self.snapshot.arch.word_mask)
        if how == VALUE:
            return int(said)
        if how == LIES_AT:
            return self._read(int(said), code.size)
        if how == NO_CFA:
            raise UnsupportedRule("a rule counts from the CFA, and the row has none")
        raise UnknownRegister(rule.register if isinstance(rule, AtRegister | RegisterPlus) else name or "the CFA")

    def _read(self, address: int, size: int) -> int:
        return self.snapshot.memory.unsigned(address & self.snapshot.arch.word_mask, size)

    def _computed(self, operations: tuple[Operation, ...]) -> int:
        """A DWARF expression; a register's starts with the CFA on its stack (DWARF 5, section 6.4.2.3)."""
        initial = (int(self.frame.cfa),) if self.frame.cfa_known else ()
        arch, memory = self.snapshot.arch, self.snapshot.memory
        return evaluate(operations, arch, self.registers, memory, initial, bias=self.bias, steps=self.steps)
