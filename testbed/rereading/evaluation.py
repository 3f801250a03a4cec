"""Rows evaluated on many frames at once: CFA, return address, the caller's registers. What is unknown is so marked.

The return address is the value as it lies there: with its signature, with the Thumb bit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.rereading.expression import Unknown, compute, registers_read
from testbed.rereading.rows import CFA, ByExpression, Lost, Plus, SecondRow, SecondRule, Word

Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
WordsReader = Callable[[Numbers, Words, int], tuple[Words, Bools]]
"""Of the numbers of frames, an address for each and a size in bytes: the values there, and where they can be read."""


class KnownValues(NamedTuple):
    """A value of each frame, and where it is known."""

    value: Words
    known: Bools


class RowRules(NamedTuple):
    """The rules of a row: with what its format leaves out, and without where it stands; a register has one or None."""

    cfa: SecondRule | None
    return_address: SecondRule
    registers: tuple[SecondRule | None, ...]


@dataclass(frozen=True, eq=False)
class RowFrames:
    """Frames that rows are evaluated on: their registers, and the memory of each.

    ``bias`` says of the number of a frame how far from its link-time addresses its image is loaded.
    """

    arch: Arch
    values: Words
    known: Bools
    read: WordsReader
    bias: Callable[[int], int]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Callers as rows make them out. ``values`` and ``known`` have a column for each register.

    ``return_place`` is where in memory the return address lies.
    """

    cfa: KnownValues
    return_address: KnownValues
    return_place: KnownValues
    values: Words
    known: Bools


def rules_of(row: SecondRow) -> RowRules:
    """The rules of a row.

    Of a register of which parts have rules nothing is known unless they lie in memory side by side. The link register
    is unknown in a caller, because the call has overwritten it; not so in one that a signal interrupted.
    """
    arch = row.arch
    kept = platform(arch).preserved if row.others_kept else ()
    rules: dict[str, SecondRule | None] = {**{name: Plus(name) for name in kept}, arch.sp: Plus(CFA)}
    rules.update(row.registers)
    for whole in {part.whole for part in arch.parts.values() if part.name in row.registers}:
        rules[whole] = _joined(row, whole)
    if arch.link is not None and not row.signal_frame:
        rules[arch.link] = None
    rules[arch.pc], rules[arch.flags] = row.return_address, None
    return RowRules(row.cfa, row.return_address, tuple(rules.get(name) for name in arch.index))


def _joined(row: SecondRow, whole: str) -> SecondRule | None:
    """The rule of a register out of those of its parts."""
    parts = sorted((each for each in row.arch.parts.values() if each.whole == whole), key=lambda p: p.first_bit)
    rules = [row.registers.get(part.name) for part in parts]
    if whole in row.registers:
        return None
    if all(rule in (None, Plus(part.name)) for part, rule in zip(parts, rules, strict=True)):
        return Plus(whole)
    match rules[0]:
        case Word(Plus(str(base), offset), size):
            beside = [Word(Plus(base, offset + part.first_bit // 8), size) for part in parts]
            return Word(Plus(base, offset), size * len(parts)) if rules == beside else None
    return None


@dataclass(frozen=True, eq=False)
class RulesInColumns:
    """The rules of rows in columns: a line for each row, of its CFA, its return address, where in memory that lies, and
    each register.

    Nearly all rules are a register or the CFA plus ``offset``, or the ``size`` bytes there. ``base`` is the column of
    that register (the CFA's is behind all of them), _NOTHING, or _OTHER for a rule that is evaluated as it stands.
    """

    rules: tuple[tuple[SecondRule | None, ...], ...]
    base: NDArray[np.int64]
    offset: Words
    size: NDArray[np.int64]

    @cached_property
    def bases(self) -> Numbers:
        """The columns of the registers that any rule counts from."""
        used = np.flatnonzero(np.bincount(self.base[self.base >= 0]))
        registers: Numbers = used[used < self.base.shape[1] - _THINGS]
        return registers

    @cached_property
    def reads(self) -> Bools:
        """Of each line, which of `bases` its own rules count from."""
        used = np.zeros(self.base.shape, np.bool_)
        lines, things = np.nonzero((self.base >= 0) & (self.base < self.base.shape[1] - _THINGS))
        used[lines, self.base[lines, things]] = True
        return used[:, self.bases]

    @cached_property
    def things(self) -> Numbers:
        """Which of the things some line has a rule for."""
        return np.flatnonzero((self.base != _NOTHING).any(axis=0))

    @cached_property
    def has_others(self) -> Bools:
        """Which lines have a rule that is evaluated as it stands."""
        found: Bools = (self.base == _OTHER).any(axis=1)
        return found

    def with_lines(self, more: RulesInColumns) -> RulesInColumns:
        return RulesInColumns(
            self.rules + more.rules,
            np.concatenate((self.base, more.base)),
            np.concatenate((self.offset, more.offset)),
            np.concatenate((self.size, more.size)),
        )


_NOTHING, _OTHER = -1, -2
_CFA, _RETURN, _PLACE, _THINGS = range(4)  # things in front of the registers, and how many


def rule_columns(arch: Arch, rows: Sequence[RowRules]) -> RulesInColumns:
    """Rules in columns."""
    columns = {**arch.index, CFA: len(arch.registers)}

    def coded(rule: SecondRule | None) -> tuple[int, int, int]:
        match rule:
            case None | Lost():
                return _NOTHING, 0, 0
            case Plus(str(base), offset):
                return columns.get(base, _NOTHING), offset & _WORD, 0
            case Word(Plus(str(base), offset), size):
                return columns.get(base, _NOTHING), offset & _WORD, size
            case _:
                return _OTHER, 0, 0

    rules = tuple((row.cfa, row.return_address, _place(row.return_address), *row.registers) for row in rows)
    lines = np.array([[coded(rule) for rule in line] for line in rules], object)
    base, offset, size = np.moveaxis(lines.reshape(len(rules), 2 + len(columns), 3), 2, 0)
    return RulesInColumns(rules, base.astype(np.int64), offset.astype(np.uint64), size.astype(np.int64))


_WORD = (1 << 64) - 1


def _place(return_address: SecondRule) -> SecondRule | None:
    return return_address.at if isinstance(return_address, Word) else None


def evaluate(rules: RulesInColumns, which: Numbers, frames: RowFrames) -> Evaluated:
    """The caller of each frame, by the rules that ``which`` numbers."""
    arch, many = frames.arch, len(which)
    none = KnownValues(np.zeros((many, 1), np.uint64), np.zeros((many, 1), np.bool_))
    cfa = _RuleValues(frames, none, rules, which).of(np.array([_CFA]))
    cfa = KnownValues(cfa.value & np.uint64(arch.word_mask), cfa.known)
    things = rules.things[rules.things > _CFA]
    shape = many, rules.base.shape[1]
    value, known = np.zeros(shape, np.uint64), np.zeros(shape, np.bool_)
    value[:, [_CFA]], known[:, [_CFA]] = cfa
    value[:, things], known[:, things] = _RuleValues(frames, cfa, rules, which).of(things)
    own, returns, place = (KnownValues(value[:, k], known[:, k]) for k in (_CFA, _RETURN, _PLACE))
    return Evaluated(own, returns, place, value[:, _THINGS:] & _masks(arch)[:-1], known[:, _THINGS:])


@cache
def _masks(arch: Arch) -> Words:
    """The bits of each register, and of a CFA."""
    return np.array([*((1 << register.bits) - 1 for register in arch.registers), arch.word_mask], np.uint64)


@dataclass(frozen=True, eq=False)
class _RuleValues:
    """What rules give on frames; ``cfa`` is a table of one column."""

    frames: RowFrames
    cfa: KnownValues
    rules: RulesInColumns
    which: Numbers

    def of(self, things: Numbers) -> KnownValues:
        """A table: of each frame what its rules give of some things."""
        arch, which = self.frames.arch, self.which
        base, size = self.rules.base[:, things][which], self.rules.size[:, things][which]
        column = np.maximum(base, 0)
        bases, known = np.column_stack((self.frames.values, self.cfa.value)), (self.frames.known, self.cfa.known)
        value = np.take_along_axis(bases, column, 1) + self.rules.offset[:, things][which] & _masks(arch)[column]
        there = np.take_along_axis(np.column_stack(known), column, 1) & (base >= 0)
        for octets in filter(None, np.flatnonzero(np.bincount(size[there])).tolist()):
            at = np.nonzero(there & (size == octets))
            value[at], there[at] = self.frames.read(at[0], value[at], octets)
        others: dict[SecondRule, list[tuple[int, int]]] = {}
        for i, k in zip(*(each.tolist() for each in np.nonzero(base == _OTHER)), strict=True):
            rule = self.rules.rules[int(which[i])][int(things[k])]
            assert rule is not None
            others.setdefault(rule, []).append((i, k))
        for rule, places in others.items():
            some, thing = np.array(places).T
            value[some, thing], there[some, thing] = self.value(rule, some)
        value[~there] = 0
        return KnownValues(value, there)

    def value(self, rule: SecondRule, some: Numbers) -> KnownValues:
        """What one rule gives of some frames."""
        match rule:
            case Plus(base, offset):
                value, known = self.register(base, some) if isinstance(base, str) else self.value(base, some)
                arch = self.frames.arch
                mask = _masks(arch)[arch.index.get(base, -1) if isinstance(base, str) else -1]
                return KnownValues(value + np.uint64(offset & _WORD) & mask, known)
            case Word(at, size):
                address, known = self.value(at, some)
                where = np.flatnonzero(known)
                value, there = np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_)
                value[where], there[where] = self.frames.read(some[where], address[where], size)
                return KnownValues(value, there)
            case ByExpression():
                alike, found = self._alike(rule, some), dict[Hashable, int | None]()
                for i, key in zip(some.tolist(), alike, strict=True):
                    if key not in found:
                        found[key] = self.computed(rule, i)
                value = np.array([found[key] or 0 for key in alike], np.uint64)
                return KnownValues(value, np.array([found[key] is not None for key in alike], np.bool_))
            case Lost():
                return KnownValues(np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_))

    def _alike(self, rule: ByExpression, some: Numbers) -> Sequence[Hashable]:
        """A key of each frame: those with equal ones are alike in all that an expression looks at."""
        arch = self.frames.arch
        read = registers_read(rule.expression, arch.word)
        if read is None:
            return range(len(some))
        columns = [arch.index[arch.by_dwarf[number]] for number in read if number in arch.by_dwarf]
        values = np.column_stack((self.frames.values[some][:, columns], self.cfa.value[some]))
        known = np.column_stack((self.frames.known[some][:, columns], self.cfa.known[some]))
        return [row.tobytes() for row in np.column_stack((values, known))]

    def register(self, name: str, some: Numbers) -> KnownValues:
        if name == CFA:
            return KnownValues(self.cfa.value[some, 0], self.cfa.known[some, 0])
        column = self.frames.arch.index.get(name)
        if column is None:
            return KnownValues(np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_))
        return KnownValues(self.frames.values[some, column], self.frames.known[some, column])

    def computed(self, rule: ByExpression, i: int) -> int | None:
        """What an expression gives of one frame."""
        cfa = int(self.cfa.value[i, 0]) if self.cfa.known[i, 0] else None
        try:
            found = compute(rule.expression, [cfa] if rule.on_cfa else [], _OneFrame(self.frames, i))
        except Unknown:
            return None
        return found & _WORD


@dataclass(frozen=True, slots=True)
class _OneFrame:
    """One of the frames, as an expression looks at it."""

    frames: RowFrames
    i: int

    @property
    def arch(self) -> Arch:
        return self.frames.arch

    @property
    def bias(self) -> int:
        return self.frames.bias(self.i)

    @property
    def registers(self) -> Mapping[str, int | None]:
        values, known = self.frames.values[self.i].tolist(), self.frames.known[self.i].tolist()
        return {name: values[k] if known[k] else None for name, k in self.arch.index.items()}

    def read_word(self, address: int, size: int) -> int | None:
        value, known = self.frames.read(np.array([self.i]), np.array([address], np.uint64), size)
        return int(value[0]) if known[0] else None
