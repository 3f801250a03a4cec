"""Rows of a table, and the truth beside them, as columns for the compiled check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import (
    ABSENT,
    AT_CFA,
    AT_COMPUTED,
    AT_REGISTER,
    CFA,
    CFA_PLUS,
    COMPUTED,
    CONSTANT,
    NO_ROW,
    OUTERMOST,
    REGISTER_PLUS,
    RETURN_ADDRESS,
    SAME,
    SIGNATURE,
    UNDEFINED,
    UNREADABLE,
    UNTRIED,
    CallerColumns,
    CodedRows,
    CodedRules,
    Masks,
)
from testbed.checks.row_rules import register_rules, return_address_rule
from testbed.contract.rows import (
    AtCfa,
    AtExpression,
    AtRegister,
    CfaPlus,
    Constant,
    IsExpression,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.truth.native.near import NEAR
from testbed.truth.watched import Watched
from testbed.words.errors import NoUnwindInfo

RowExpression = tuple[AtExpression | IsExpression, bool]  # and whether it is the CFA's
_RuleNumbers = tuple[int, int, int, int, int]  # kind, base, size, own, offset


@dataclass(eq=False)
class RowColumns:
    """The rows of one table that were asked for until now. A number below 0 stands for no row: see ``missing``."""

    table: RowTable
    arch: Arch
    rows: list[UnwindRow] = field(default_factory=list)
    expressions: list[tuple[RowExpression, ...]] = field(default_factory=list)  # of each row
    _numbers: dict[int, int] = field(default_factory=dict)  # by link-time pc
    _of_row: dict[int, int] = field(default_factory=dict)  # by identity: rows hold dictionaries
    _cfa: list[_RuleNumbers] = field(default_factory=list)
    _return_address: list[_RuleNumbers] = field(default_factory=list)
    _rules: list[_RuleNumbers] = field(default_factory=list)
    _facts: list[tuple[int, int, int, int]] = field(default_factory=list)
    _coded: CodedRows | None = None  # of those before, which are in the lists above no more
    _count: int = 0  # rules of registers, of all rows

    def numbers(self, pcs: Iterable[int]) -> NDArray[np.int64]:
        """Each link-time pc's row, by its number."""
        return np.array([self._number(pc) for pc in pcs], np.int64)

    def _number(self, pc: int) -> int:
        if pc not in self._numbers:
            row = self.table.at(pc)
            if row is None:
                why = self.table.stop_at(pc)
                self._numbers[pc] = -NO_ROW if why is None or isinstance(why, NoUnwindInfo) else -UNREADABLE
            else:
                if id(row) not in self._of_row:
                    self._of_row[id(row)] = len(self.rows)
                    self._add(row)
                self._numbers[pc] = self._of_row[id(row)]
        return self._numbers[pc]

    def _add(self, row: UnwindRow) -> None:
        arch, index = self.arch, self.arch.index
        rules = register_rules(row, arch)
        returns = return_address_rule(row, arch)
        expressions: list[RowExpression] = []
        cfa = _coded(row.cfa, None, arch.word, arch, expressions)
        # A CFA that counts from itself.
        self._cfa.append(cfa if cfa[0] not in (AT_CFA, CFA_PLUS, SAME, UNDEFINED) else (UNTRIED, 0, arch.word, 0, 0))
        self._return_address.append(_coded(returns, row.return_address, arch.word, arch, expressions))
        self._rules += [
            _coded(rule, name, arch.by_name[name].bits // 8, arch, expressions) for name, rule in rules.items()
        ]
        self._facts.append((self._count, len(rules), index.get(row.outermost_if_zero or "", -1), int(row.is_signed)))
        self._count += len(rules)
        self.rows.append(row)
        self.expressions.append(tuple(expressions))

    def coded(self) -> CodedRows:
        """All rows. Those that were asked for before are not coded again."""
        if self._facts or self._coded is None:
            lists = (self._cfa, self._return_address, self._rules)
            facts = np.array(self._facts, np.int64).reshape(-1, 4)
            new = CodedRows(_columns(self._cfa), _columns(self._return_address), _columns(self._rules), facts)
            before = self._coded
            self._coded = new if before is None else _both(before, new)
            for each in (*lists, self._facts):
                each.clear()
        return self._coded


def _both(before: CodedRows, new: CodedRows) -> CodedRows:
    return CodedRows(
        _joined(before.cfa, new.cfa),
        _joined(before.return_address, new.return_address),
        _joined(before.rules, new.rules),
        np.concatenate((before.facts, new.facts)),
    )


def _joined(before: CodedRules, new: CodedRules) -> CodedRules:
    columns, offset = (np.concatenate(pair) for pair in zip(before, new, strict=True))
    return CodedRules(columns, offset)


@lru_cache(maxsize=16)
def row_columns(table: RowTable, arch: Arch) -> RowColumns:
    """The columns of a table; they are kept, since one table is held against many runs."""
    return RowColumns(table, arch)


def _coded(rule: Rule | None, own: str | None, size: int, arch: Arch, expressions: list[RowExpression]) -> _RuleNumbers:
    """The rule of register ``own`` (None: of the CFA); an expression is one more of those of its row."""
    index: Mapping[str, int] = arch.index
    place = index.get(own or "", 0)
    match rule:
        case None:
            return ABSENT, 0, size, place, 0
        case AtCfa(offset):
            return AT_CFA, 0, size, place, offset
        case CfaPlus(offset):
            return CFA_PLUS, 0, size, place, offset
        case AtRegister(register, offset) if register in index:
            return AT_REGISTER, index[register], size, place, offset
        case RegisterPlus(register, offset) if register in index:
            return REGISTER_PLUS, index[register], size, place, offset
        case SameValue() if own in index:
            # The pc is where this function is: it is never the caller's still.
            return (ABSENT if own == arch.pc else SAME), place, size, place, 0
        case Constant(value):
            return CONSTANT, 0, size, place, value
        case Undefined():
            return UNDEFINED, 0, size, place, 0
        case AtExpression() | IsExpression():
            expressions.append((rule, own is None))
            kind = AT_COMPUTED if isinstance(rule, AtExpression) else COMPUTED
            return kind, 0, size, place, len(expressions) - 1
        case _:
            return UNTRIED, 0, size, place, 0


def _columns(rules: list[_RuleNumbers]) -> CodedRules:
    columns = np.array([rule[:4] for rule in rules], np.int64).reshape(-1, 4)
    return CodedRules(columns, np.array([rule[4] % (1 << 64) for rule in rules], np.uint64))


@lru_cache(maxsize=1)  # the tables of a program are held against one run after the other
def caller_columns(watched: Watched) -> CallerColumns:
    """What is true of the caller of every activation. A signal gives back the registers of the step before it."""
    activations, own, arch = watched.activations, watched.activations.opened, watched.trace.arch
    if not watched.trace.sizes.all():
        own = own - np.array([activation.signal for activation in activations], np.int64)
    kept = np.array([register.name in arch.preserved for register in arch.registers], np.bool_)
    columns = (activations.parent, activations.return_address, activations.goes_on, activations.cfa)
    return CallerColumns(*columns, own, watched.node, watched.signed, _entered(watched, own), kept)


def _entered(watched: Watched, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each step, the one at which its function was entered: by the call, or by a tail call after it.

    A tail call may change what calls do not preserve: the function that it goes to never sees what the caller had.
    """
    trace, node, activations = watched.trace, watched.node, watched.activations
    pcs, of_step = np.unique(trace.pc, return_inverse=True)
    starts = np.array([watched.function(pc) == pc and not watched.is_nameless(pc) for pc in pcs.tolist()], np.bool_)
    begins = starts[of_step] & (trace.sp == activations.entry_sp[node]) & (own == activations.opened)[node]
    order = np.argsort(node, kind="stable")
    places = np.arange(len(order))
    is_first = np.diff(node[order], prepend=-1) != 0
    last = np.maximum.accumulate(np.where(is_first | begins[order], places, 0))
    entered = np.empty(len(order), np.int64)
    entered[order] = np.where(begins[order][last], order[last], own[node[order]])
    return entered


def masks(arch: Arch, at_calls: bool) -> Masks:
    """What the compiled check knows of an architecture."""
    address = np.uint64(arch.code_mask & ~arch.signature)
    return Masks(
        np.uint64(arch.word_mask),
        address,
        np.uint64(NEAR),
        np.uint64(CFA),
        np.uint64(RETURN_ADDRESS),
        np.uint64(SIGNATURE),
        np.uint64(OUTERMOST),
        np.int64(arch.index[arch.sp]),
        np.bool_(at_calls),
    )
