"""What one row says wrongly at one step: the readable specification of `testbed.checks.native.rows`.

A row is held against the innermost activation alone::

    true CFA              = SP just before the call that opened this activation
    true value of a rule  = the caller's register, as it was when the activation opened (SP: the CFA); one that calls do
                            not preserve as it was when this function was entered, be it by a tail call

A rule is tried with the true CFA, so a wrong CFA is one thing and not one per register. It is right when it finds the
right value: a slot below SP that still holds it (a red zone) is legal, and so is a register that is pushed already
while its rule still says "same value". Callee-saved registers without a rule have the ABI's, which is "same value"; of
others only those with a rule are tried. What a row says of the return address's signature has to be true even where
there is none to take off: who authenticates it fails. A rule that finds nothing, as memory that is not mapped, is
wrong; one that says "undefined" claims nothing of a register.

At the bottom of a stack nobody called, and a row has to say that: its return address is undefined. Where somebody did,
that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.checks.native.codes import (
    CFA,
    OUTERMOST,
    REGISTERS,
    RETURN_ADDRESS,
    SIGNATURE,
)
from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    AtRegister,
    CfaPlus,
    Constant,
    IsExpression,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.trace import Snapshot
from testbed.truth import TrueFrame
from testbed.words.errors import UnreadableMemory

# What a DWARF expression computes: of a register's rule the CFA is given, of the CFA's None. None: it cannot be tried.
# UnreadableMemory: it finds nothing.
Evaluate = Callable[[AtExpression | IsExpression, Snapshot, int | None], int | None]


@dataclass(frozen=True, slots=True)
class TrueCaller:
    """What is true of an activation that somebody called: its CFA and its caller's registers, all of them.

    ``frame`` is the caller's. ``signed``: the return address carries a signature at this step.
    """

    cfa: int
    frame: TrueFrame
    registers: Mapping[str, int]
    signed: bool


def wrong_at(
    row: UnwindRow, at: Snapshot, caller: TrueCaller | None, evaluate: Evaluate | None = None, *, at_calls: bool = False
) -> tuple[int, bool]:
    """The bits of what a row says wrongly at a step, and whether some rule could not be tried.

    ``caller`` None: nobody called. ``at_calls``: a row that ends the stack promises nothing.
    """
    arch = at.arch
    rule = return_address_rule(row, arch)
    ends = isinstance(rule, Undefined)
    ends = ends or (row.outermost_if_zero is not None and at.registers.get(row.outermost_if_zero) == 0)
    if caller is None:
        return (0 if ends else RETURN_ADDRESS), False
    if ends:
        return (0, True) if at_calls else (RETURN_ADDRESS | OUTERMOST, False)
    trial = _TriedRules(at, caller.cfa, evaluate)
    tried: dict[int, bool | None] = {SIGNATURE: row.is_signed == caller.signed}
    if row.cfa is not None:
        tried[CFA] = trial.of_cfa(row.cfa)
    if rule is None:
        tried[RETURN_ADDRESS] = False
    else:
        tried[RETURN_ADDRESS] = trial.of_return_address(rule, row.return_address, caller.frame)
    for name, its_rule in register_rules(row, arch).items():
        true = caller.cfa if name == arch.sp else caller.registers[name]
        tried[1 << REGISTERS + arch.index[name]] = trial.of_register(its_rule, name, true)
    wrong = sum(bit for bit, is_right in tried.items() if is_right is False)
    return wrong, None in tried.values()


def return_address_rule(row: UnwindRow, arch: Arch) -> Rule | None:
    """Where a row says the return address is; None where neither it nor the ABI says it."""
    rule = row.registers.get(row.return_address)
    if rule is None and (row.return_address == arch.link or row.return_address in arch.preserved):
        return SameValue()
    return rule


def register_rules(row: UnwindRow, arch: Arch) -> Mapping[str, Rule]:
    """The rules that claim something of the caller's registers, but for the pc and the return address.

    The link register of a caller is unknown: the call wrote over it. Only a signal's frame knows what it held.
    """
    rules: dict[str, Rule] = dict.fromkeys(arch.preserved, SameValue())
    rules |= {name: rule for name, rule in row.registers.items() if name in arch.by_name}
    for name in (arch.pc, row.return_address, None if row.signal_frame else arch.link):
        if name is not None:
            rules.pop(name, None)
    return {name: rule for name, rule in rules.items() if not isinstance(rule, Undefined)}


@dataclass(frozen=True, slots=True)
class _TriedRules:
    """What rules are tried on. Each answer is: does the rule find what is right? None: it cannot be tried."""

    at: Snapshot
    cfa: int
    evaluate: Evaluate | None

    def of_cfa(self, rule: Rule) -> bool | None:
        if isinstance(rule, AtCfa | CfaPlus | SameValue):  # it counts from itself
            return None
        return self._finds(rule, "", None, 8 * self.at.arch.word, lambda value: value == self.cfa)

    def of_return_address(self, rule: Rule, register: str, caller: TrueFrame) -> bool | None:
        arch = self.at.arch
        if rule == SameValue() and register == arch.pc:  # the pc is where this function is
            return False
        return self._finds(
            rule, register, self.cfa, 8 * arch.word, lambda value: caller.is_at(arch.without_signature(value))
        )

    def of_register(self, rule: Rule, name: str, true: int) -> bool | None:
        return self._finds(rule, name, self.cfa, self.at.arch.by_name[name].bits, lambda value: value == true)

    def _finds(
        self, rule: Rule, register: str, cfa: int | None, bits: int, is_right: Callable[[int], bool]
    ) -> bool | None:
        try:
            value = self._value(rule, register, cfa, bits)
        except UnreadableMemory:
            return False
        return None if value is None else is_right(value)

    def _value(self, rule: Rule, register: str, cfa: int | None, bits: int) -> int | None:
        """What a rule finds. An expression of a register's rule begins with the CFA; one of the CFA's does not."""
        at, mask, word = self.at, (1 << bits) - 1, self.at.arch.word_mask
        match rule:
            case AtCfa(offset):
                return at.memory.unsigned(self.cfa + offset & word, bits // 8)
            case CfaPlus(offset):
                return self.cfa + offset & word & mask
            case AtRegister(base, offset) if base in at.registers:
                return at.memory.unsigned(at.registers[base] + offset & word, bits // 8)
            case RegisterPlus(base, offset) if base in at.registers:
                return at.registers[base] + offset & mask
            case SameValue() if register in at.registers:
                return at.registers[register]
            case Constant(value):
                return value & mask
            case AtExpression() | IsExpression() if self.evaluate is not None:
                computed = self.evaluate(rule, at, cfa)
                if computed is None or isinstance(rule, IsExpression):
                    return None if computed is None else computed & mask
                return at.memory.unsigned(computed & word, bits // 8)
            case _:
                return None
