"""Rules coded as numbers, for code that applies or tries very many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.contract.native import (
    AT_CFA,
    AT_COMPUTED,
    AT_REGISTER,
    CFA_PLUS,
    COMPUTED,
    CONSTANT,
    NONE,
    REGISTER_PLUS,
    SAME,
    UNDEFINED,
    UNKNOWN,
    EncodedRule,
    RuleColumns,
)
from testbed.contract.rows import (
    AtRegister,
    Constant,
    ExpressionRule,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.conventions import Convention, platform

_TYPES = (np.int64, np.int64, np.uint64, np.int64, np.int64)  # of the columns of `RuleColumns`


def return_address_rule(row: UnwindRow, arch: Arch) -> Rule | None:
    """Where a row says the return address is; None where neither it nor the ABI says it."""
    rule = row.registers.get(row.return_address)
    if rule is None and (row.return_address == arch.link or row.return_address in platform(arch).preserved):
        return SameValue()
    return rule


def register_rules(row: UnwindRow, arch: Arch, convention: Convention | None = None) -> dict[str, Rule]:
    """The rule of every register of the caller, but for the pc and the return address: the row's, or its convention's.

    ``convention`` None: the platform's, by which unwinders go.
    The link register of a caller is unknown: the call wrote over it. Only a signal's frame knows what it held.
    """
    rules: dict[str, Rule] = dict.fromkeys((convention or platform(arch)).judged, SameValue())
    rules |= {name: rule for name, rule in row.registers.items() if name in arch.by_name}
    for name in (arch.pc, row.return_address, None if row.signal_frame else arch.link):
        if name is not None:
            rules.pop(name, None)
    return rules


def coded_rule(rule: Rule | None, own: str, index: Mapping[str, int], size: int) -> EncodedRule:
    """The rule of register ``own`` ("": of the CFA), of ``size`` bytes; ``index`` says where registers are."""
    kind, base, offset = _coded(rule, own, index)
    return EncodedRule(kind, base, np.uint64(offset % (1 << 64)), size, index.get(own, 0))


def _coded(rule: Rule | None, own: str, index: Mapping[str, int]) -> tuple[int, int, int]:
    match rule:
        case None:
            return NONE, 0, 0
        case Offset(offset):
            return AT_CFA, 0, offset
        case ValOffset(offset):
            return CFA_PLUS, 0, offset
        case AtRegister(register, offset) if register in index:
            return AT_REGISTER, index[register], offset
        case RegisterPlus(register, offset) if register in index:
            return REGISTER_PLUS, index[register], offset
        case SameValue() if own in index:
            return SAME, index[own], 0
        case Constant(value):
            return CONSTANT, 0, value
        case Undefined():
            return UNDEFINED, 0, 0
        case ExpressionRule():
            return AT_COMPUTED, 0, 0
        case ValExpression():
            return COMPUTED, 0, 0
        case AtRegister() | RegisterPlus() | SameValue():
            return UNKNOWN, 0, 0
        case _:
            assert_never(rule)


def rules_in_columns(rules: Iterable[EncodedRule]) -> RuleColumns:
    """Many rules."""
    columns = list(zip(*rules, strict=True)) or [()] * len(_TYPES)
    arrays: list[NDArray[Any]] = [np.array(column, dtype) for column, dtype in zip(columns, _TYPES, strict=True)]
    return RuleColumns(*arrays)
