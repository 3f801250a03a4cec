"""One row applied to one frame: the caller's registers. The readable specification of every row technique.

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
from dataclasses import dataclass, replace
from typing import assert_never

from testbed.arch import Arch
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    AtRegister,
    CfaPlus,
    Constant,
    IsExpression,
    Operation,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UnknownRegister, UnreadableMemory, UnsupportedRule, UnwindError
from unwinders.rows.expression import ExpressionSteps, evaluate


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
    rules = _FrameFacts(frame.registers, snapshot, bias, steps or ExpressionSteps())
    rule = return_address_rule(row, arch)
    if isinstance(rule, Undefined):
        return _root_cfa(row, rules), None
    if row.cfa is not None:
        cfa = rules.value(row.cfa, "the CFA", 8 * arch.word)
        rules = replace(rules, cfa=cfa)
    return_address = rules.value(rule, row.return_address, 8 * arch.word)
    pc = snapshot.without_signature(return_address) if row.is_signed else arch.code_address(return_address)
    registers: dict[str, int] = {}
    for name, its_rule in register_rules(row, arch).items():
        if isinstance(its_rule, Undefined):
            continue
        try:
            registers[name] = rules.value(its_rule, name, arch.by_name[name].bits)
        except (UnknownRegister, UnreadableMemory, UnsupportedRule):
            continue
    registers[arch.pc] = pc
    kind = FrameKind.INTERRUPTED if row.signal_frame else FrameKind.CALLER
    return rules.cfa, Frame(kind, pc, registers)


def return_address_rule(row: UnwindRow, arch: Arch) -> Rule:
    """Where a row says the return address is. Raises NoUnwindInfo where neither it nor the ABI does."""
    rule = row.registers.get(row.return_address)
    if rule is not None:
        return rule
    if row.return_address == arch.link or row.return_address in arch.preserved:
        return SameValue()
    raise NoUnwindInfo(f"the row has no rule for the return address in {row.return_address}")


def register_rules(row: UnwindRow, arch: Arch) -> Mapping[str, Rule]:
    """The rule of every register that the caller may have a value for: the row's, else the ABI's default."""
    rules: dict[str, Rule] = dict.fromkeys(arch.preserved, SameValue())
    rules[arch.sp] = CfaPlus(0) if row.cfa is not None else Undefined()
    rules |= {name: rule for name, rule in row.registers.items() if name in arch.by_name}
    for name in (arch.pc, row.return_address, None if row.signal_frame else arch.link):
        if name is not None:
            rules.pop(name, None)
    return rules


def _root_cfa(row: UnwindRow, rules: _FrameFacts) -> int | None:
    """The outermost frame's CFA leads nowhere, so it may as well be unknown."""
    try:
        return None if row.cfa is None else rules.value(row.cfa, "the CFA", 8 * rules.snapshot.arch.word)
    except UnwindError:
        return None


@dataclass(frozen=True, slots=True)
class _FrameFacts:
    """What rules are evaluated on: one frame's registers, the memory, and the frame's CFA once it is known."""

    registers: Mapping[str, int]
    snapshot: Snapshot
    bias: int
    steps: ExpressionSteps
    cfa: int | None = None

    def value(self, rule: Rule, name: str, bits: int) -> int:
        """What a rule says the caller's ``name`` is, cut to its width; or, before the CFA is known, the CFA."""
        size = bits // 8
        mask = (1 << bits) - 1
        match rule:
            case AtCfa(offset):
                return self.read(self.known_cfa() + offset, size)
            case CfaPlus(offset):
                return self.known_cfa() + offset & self.snapshot.arch.word_mask
            case AtRegister(register, offset):
                return self.read(self.register(register) + offset, size)
            case RegisterPlus(register, offset):
                return self.register(register) + offset & mask
            case SameValue():
                return self.register(name)
            case Undefined():
                raise UnknownRegister(name)
            case Constant(value):
                return value & mask
            case AtExpression(operations):
                return self.read(self.computed(operations), size)
            case IsExpression(operations):
                return self.computed(operations) & mask
            case _:
                assert_never(rule)

    def read(self, address: int, size: int) -> int:
        return self.snapshot.memory.unsigned(address & self.snapshot.arch.word_mask, size)

    def register(self, name: str) -> int:
        if name not in self.registers:
            raise UnknownRegister(name)
        return self.registers[name]

    def known_cfa(self) -> int:
        if self.cfa is None:
            raise UnsupportedRule("a rule counts from the CFA, and the row has none")
        return self.cfa

    def computed(self, operations: tuple[Operation, ...]) -> int:
        """A DWARF expression; a register's starts with the CFA on its stack (DWARF 5, section 6.4.2.3)."""
        initial = () if self.cfa is None else (self.cfa,)
        arch, memory = self.snapshot.arch, self.snapshot.memory
        return evaluate(operations, arch, self.registers, memory, initial, bias=self.bias, steps=self.steps)
