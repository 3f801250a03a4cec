"""Rows of a table, and the truth beside them, as the columns of `testbed.checks.native.codes`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import NO_ROW, UNREADABLE, CallerColumns, CheckedRun, EncodedRows
from testbed.contract.coded import coded_rule, register_rules, return_address_rule, rules_in_columns
from testbed.contract.native import AT_CFA, CFA_PLUS, NONE, SAME, UNDEFINED, UNKNOWN, EncodedRule
from testbed.contract.rows import ExpressionRule, RowTable, Rule, UnwindRow, ValExpression
from testbed.conventions import Convention
from testbed.image import Image
from testbed.trace import Snapshot
from testbed.trace.flat.memory import memory_of
from testbed.truth import Truth
from testbed.truth.watched import Watched
from testbed.words.errors import NoUnwindInfo

# What a DWARF expression computes: of a register's rule the CFA is given, of the CFA's None. None: it cannot be tried.
# UnreadableMemory: it finds nothing.
Evaluate = Callable[[ExpressionRule | ValExpression, Snapshot, int | None], int | None]
RowPlace = tuple[int, Convention]  # a link-time pc, and what is agreed on there
RowExpression = tuple[ExpressionRule | ValExpression, bool]  # and whether it is the CFA's


@dataclass(eq=False)
class RowColumns:
    """The rows of one table that were asked for until now. A number below 0 stands for no row.

    What a row leaves out is said by a convention, that of the activation that is at it.
    """

    table: RowTable
    arch: Arch
    expressions: list[tuple[RowExpression, ...]] = field(default_factory=list)  # of each row
    _numbers: dict[RowPlace, int] = field(default_factory=dict)
    _of_row: dict[tuple[int, Convention], int] = field(default_factory=dict)  # by identity: rows hold dictionaries
    _cfa: list[EncodedRule] = field(default_factory=list)
    _return_address: list[EncodedRule] = field(default_factory=list)
    _rules: list[EncodedRule] = field(default_factory=list)
    _facts: list[tuple[int, int, int, bool]] = field(default_factory=list)  # the last four columns of `EncodedRows`
    _coded: EncodedRows | None = None  # of those before, which are in the lists above no more
    _count: int = 0  # rules of registers, of all rows

    def numbers(self, places: Iterable[RowPlace]) -> NDArray[np.int64]:
        """Each place's row, by its number."""
        return np.array([self._number(place) for place in places], np.int64)

    def _number(self, place: RowPlace) -> int:
        if place not in self._numbers:
            pc, convention = place
            row = self.table.at(pc)
            if row is None:
                why = self.table.stop_at(pc)
                self._numbers[place] = -NO_ROW if why is None or isinstance(why, NoUnwindInfo) else -UNREADABLE
            else:
                if (id(row), convention) not in self._of_row:
                    self._of_row[id(row), convention] = len(self.expressions)
                    self._add(row, convention)
                self._numbers[place] = self._of_row[id(row), convention]
        return self._numbers[place]

    def _add(self, row: UnwindRow, convention: Convention) -> None:
        arch, expressions = self.arch, list[RowExpression]()
        cfa = _coded(row.cfa, "", arch.word, arch, expressions)
        if cfa.kind in (AT_CFA, CFA_PLUS, SAME, UNDEFINED):  # it counts from itself
            cfa = cfa._replace(kind=UNKNOWN)
        address = _coded(return_address_rule(row, arch), row.return_address, arch.word, arch, expressions)
        if row.return_address == arch.pc and address.kind == SAME:  # the pc is where this function is, not the caller
            address = address._replace(kind=NONE)
        kept = arch.by_name if row.signal_frame else (*convention.preserved, arch.sp)
        rules = list[EncodedRule]()
        for name, rule in register_rules(row, arch, convention).items():
            coded = _coded(rule, name, arch.by_name[name].bits // 8, arch, expressions)
            # Nobody keeps such a register: what is computed of it is its author's word.
            is_a_word = name not in kept and isinstance(rule, ExpressionRule | ValExpression)
            rules.append(coded._replace(kind=UNKNOWN) if is_a_word else coded)
        claimed = [rule for rule in rules if rule.kind != UNDEFINED]
        zero = arch.index.get(row.outermost_if_zero or "", -1)
        self._cfa.append(cfa)
        self._return_address.append(address)
        self._rules += claimed
        self._facts.append((self._count, self._count + len(claimed), zero, row.is_signed))
        self._count += len(claimed)
        self.expressions.append(tuple(expressions))

    def coded(self) -> EncodedRows:
        """All rows. Those that were asked for before are not coded again."""
        if self._facts or self._coded is None:
            lists = (self._cfa, self._return_address, self._rules)
            facts = np.array(self._facts, np.int64).reshape(-1, 4)
            first, end, zero, signed = (np.ascontiguousarray(column) for column in facts.T)
            cfa, address, rules = (rules_in_columns(each) for each in lists)
            new = EncodedRows(cfa, address, rules, first, end, zero, signed != 0)
            self._coded = new if self._coded is None else _joined(self._coded, new)
            for each in (*lists, self._facts):
                each.clear()
        return self._coded


def _joined(before: Any, new: Any) -> Any:
    """Columns, or tuples of them, one behind the other."""
    if isinstance(before, tuple):
        return type(before)(*map(_joined, before, new))
    return np.concatenate((before, new))


@lru_cache(maxsize=16)
def row_columns(table: RowTable, image: Image) -> RowColumns:
    """The columns of a table of a file; they are kept, since one table is held against many runs."""
    return RowColumns(table, image.arch)


def _coded(rule: Rule | None, own: str, size: int, arch: Arch, expressions: list[RowExpression]) -> EncodedRule:
    """The rule of register ``own`` ("": of the CFA); an expression is one more of those of its row."""
    coded = coded_rule(rule, own, arch.index, size)
    if isinstance(rule, ExpressionRule | ValExpression):
        expressions.append((rule, own == ""))
        coded = coded._replace(offset=np.uint64(len(expressions) - 1))
    return coded


# Arm ARM, C6.2: PACIASP, PACIBSP.
_PACIASP, _PACIBSP = (0xD503233F).to_bytes(4, "little"), (0xD503237F).to_bytes(4, "little")


@lru_cache(maxsize=1)  # the tables of a program are held against one run after the other
def caller_columns(watched: Truth) -> CallerColumns:
    """What is true of the caller of every activation. A signal gives back the registers of the step before it."""
    activations, own, arch = watched.activations, watched.activations.opened, watched.trace.arch
    if not watched.trace.sizes.all():
        own = own - np.array([activation.signal for activation in activations], np.int64)
    conventions, convention = watched.conventions
    kept = np.array([[each.name in its.preserved for each in arch.registers] for its in conventions], np.bool_)
    columns = (activations.parent, activations.return_address, activations.goes_on, activations.cfa)
    return CallerColumns(*columns, own, watched.node, _signed_with(watched), _entered(watched, own), convention, kept)


def _signed_with(watched: Watched) -> NDArray[np.uint8]:
    """Per step: is the return address signed, and with the CFA (1)? `paciasp` and `pacibsp` take SP for that.

    What it is signed with by other instructions is not known, and taken for the CFA.
    """
    signed, node, trace = watched.signed, watched.node, watched.trace
    begins = np.flatnonzero(signed[1:] & ~signed[:-1] & (node[1:] == node[:-1]))
    _, first = np.unique(node[begins], return_index=True)  # what is signed again was so before
    others = [
        node[step]
        for step in begins[first][trace.sp[begins[first]] != watched.activations.cfa[node[begins[first]]]].tolist()
        if trace.memory(step).read(int(trace.pc[step]), len(_PACIASP)) in (_PACIASP, _PACIBSP)
    ]
    return signed.astype(np.uint8) + (signed & np.isin(node, others))


def _entered(watched: Watched, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each step, the one at which its function was entered: by the call, or by a tail call after it.

    A tail call may change what calls do not preserve: the function that it goes to never sees what the caller had.
    """
    node = watched.node
    begins = np.zeros(len(node), np.bool_)
    begins[watched.tail_calls] = True
    order = np.argsort(node, kind="stable")
    places = np.arange(len(order))
    is_first = np.diff(node[order], prepend=-1) != 0
    last = np.maximum.accumulate(np.where(is_first | begins[order], places, 0))
    entered = np.empty(len(order), np.int64)
    entered[order] = np.where(begins[order][last], order[last], own[node[order]])
    return entered


def checked_run(watched: Truth, at_calls: bool) -> CheckedRun:
    """What rows are held against, with memory as it is before the first step."""
    trace, arch = watched.trace, watched.trace.arch
    memory, journal = memory_of(trace)
    return CheckedRun(
        caller_columns(watched),
        np.asarray(trace.registers),
        memory,
        journal,
        np.uint64(arch.word_mask),
        np.uint64(arch.code_mask & ~arch.signature),
        np.uint64(arch.signature),
        np.int64(arch.index[arch.sp]),
        np.int64(arch.index.get(arch.link or "", -1)),
        np.bool_(at_calls),
    )
