"""Rows evaluated on many frames at once: CFA, return address, the caller's registers. What is unknown is so marked.

The return address is the value as it lies there: with its signature, with the Thumb bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.rereading.expression import Unknown, compute
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
    """Frames that rows are evaluated on: their registers, the memory of each, and how far from its link-time addresses
    the image of each is loaded."""

    arch: Arch
    values: Words
    known: Bools
    read: WordsReader
    bias: NDArray[np.object_]


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


def evaluate(rows: Sequence[RowRules], which: Numbers, frames: RowFrames) -> Evaluated:
    """The caller of each frame, by the row that ``which`` numbers."""
    arch, mask = frames.arch, np.uint64(frames.arch.word_mask)
    used = np.flatnonzero(np.bincount(which, minlength=len(rows)))
    rank = np.zeros(len(rows), np.int64)
    rank[used] = np.arange(len(used))
    which, chosen = rank[which], [rows[i] for i in used.tolist()]
    none = KnownValues(np.zeros(len(which), np.uint64), np.zeros(len(which), np.bool_))
    cfa = _RuleValues(frames, none, which).by([row.cfa for row in chosen])
    on_cfa = _RuleValues(frames, KnownValues(cfa.value & mask, cfa.known), which)
    found = Evaluated(
        on_cfa.cfa,
        on_cfa.by([row.return_address for row in chosen]),
        on_cfa.by([rule.at if isinstance(rule := row.return_address, Word) else None for row in chosen]),
        np.zeros(frames.values.shape, np.uint64),
        np.zeros(frames.known.shape, np.bool_),
    )
    for column, register in enumerate(arch.registers):
        value = on_cfa.by([row.registers[column] for row in chosen])
        found.values[:, column] = value.value & np.uint64((1 << register.bits) - 1)
        found.known[:, column] = value.known
    return found


@dataclass(frozen=True, eq=False)
class _RuleValues:
    frames: RowFrames
    cfa: KnownValues
    which: Numbers

    def by(self, rules: Sequence[SecondRule | None]) -> KnownValues:
        """What each frame's rule gives; of a row's number the rule."""
        numbers: dict[SecondRule | None, int] = {}
        number = np.array([numbers.setdefault(rule, len(numbers)) for rule in rules], np.int64)[self.which]
        found = KnownValues(np.zeros(len(number), np.uint64), np.zeros(len(number), np.bool_))
        for rule, i in numbers.items():
            if rule is not None and not isinstance(rule, Lost):
                some = np.flatnonzero(number == i)
                found.value[some], found.known[some] = self.value(rule, some)
        return found

    def value(self, rule: SecondRule, some: Numbers) -> KnownValues:
        """What one rule gives of some frames."""
        match rule:
            case Plus(base, offset):
                value, known = self.register(base, some) if isinstance(base, str) else self.value(base, some)
                return KnownValues(value + np.uint64(offset & (1 << 64) - 1) & np.uint64(self._mask(base)), known)
            case Word(at, size):
                address, known = self.value(at, some)
                where = np.flatnonzero(known)
                value, there = np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_)
                value[where], there[where] = self.frames.read(some[where], address[where], size)
                return KnownValues(value, there)
            case ByExpression():
                computed = [self.computed(rule, i) for i in some.tolist()]
                value = np.array([each or 0 for each in computed], np.uint64)
                return KnownValues(value, np.array([each is not None for each in computed], np.bool_))
            case Lost():
                return KnownValues(np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_))

    def register(self, name: str, some: Numbers) -> KnownValues:
        if name == CFA:
            return KnownValues(self.cfa.value[some], self.cfa.known[some])
        column = self.frames.arch.index.get(name)
        if column is None:
            return KnownValues(np.zeros(len(some), np.uint64), np.zeros(len(some), np.bool_))
        return KnownValues(self.frames.values[some, column], self.frames.known[some, column])

    def computed(self, rule: ByExpression, i: int) -> int | None:
        """What an expression gives of one frame."""
        cfa = int(self.cfa.value[i]) if self.cfa.known[i] else None
        try:
            found = compute(rule.expression, [cfa] if rule.on_cfa else [], _OneFrame(self.frames, i))
        except Unknown:
            return None
        return found & (1 << 64) - 1

    def _mask(self, base: str | SecondRule) -> int:
        register = self.frames.arch.by_name.get(base) if isinstance(base, str) else None
        return self.frames.arch.word_mask if register is None else (1 << register.bits) - 1


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
        return int(self.frames.bias[self.i])

    @property
    def registers(self) -> Mapping[str, int | None]:
        values, known = self.frames.values[self.i].tolist(), self.frames.known[self.i].tolist()
        return {name: values[k] if known[k] else None for name, k in self.arch.index.items()}

    def read_word(self, address: int, size: int) -> int | None:
        value, known = self.frames.read(np.array([self.i]), np.array([address], np.uint64), size)
        return int(value[0]) if known[0] else None
