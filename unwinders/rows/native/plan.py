"""What a row technique claims at the pcs of a trace, as columns for the native walk.

A plan holds no knowledge of any format: it asks the unwinder's own ``row_for``, once per pc and kind of frame, when
the walk first comes there, and codes the row it gets. So it says what the unwinder says, errors included. All it
needs is that ``row_for`` looks at a frame's pc and kind only; a plan's frames have no registers to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.contract.coded import coded_rule, register_rules, return_address_rule, rules_in_columns
from testbed.contract.native import SAME, UNDEFINED, UNKNOWN, EncodedRule
from testbed.contract.rows import (
    AtRegister,
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
from testbed.contract.unwinder import Frame, FrameKind
from testbed.conventions import platform
from testbed.image import LoadedImage, image_covering
from testbed.trace.distinct_rows import distinct
from testbed.trace.trace import changed_bits
from testbed.words.errors import UnwindError
from unwinders.rows.expression import sum_at
from unwinders.rows.native.codes import NO_ROW, ROWS, UNASKED, Lookup, Planned, Rows
from unwinders.rows.walk import RowFor, is_in_memory

MAX_SPAN = 1 << 30  # bytes of all segments together that the maps cover; their unused pages are never touched


class _NoRegisters(Mapping[str, int]):
    def __getitem__(self, name: str) -> NoReturn:
        raise TypeError(f"a row that depends on {name}: only rows chosen by pc can be walked natively")

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a row that depends on registers: only rows chosen by pc can be walked natively")

    def __len__(self) -> int:
        raise TypeError("a row that depends on registers: only rows chosen by pc can be walked natively")

    def get(self, name: str, default: object = None) -> NoReturn:
        self.__getitem__(name)


@dataclass(eq=False)
class Plan:
    """The rows asked for until now. ``registers`` are those that any of them names; SP and frame pointers first."""

    arch: Arch
    images: tuple[LoadedImage, ...]
    row_for: RowFor
    lookup: Lookup = field(init=False)
    registers: list[str] = field(init=False)
    found_by: dict[str, int] = field(default_factory=dict)
    _rows: list[UnwindRow] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)  # by identity: rows hold dictionaries
    _counted: dict[tuple[int, int], tuple[UnwindRow, UnwindRow]] = field(default_factory=dict)  # by identity
    _cfa: list[EncodedRule] = field(default_factory=list)
    _return_address: list[EncodedRule] = field(default_factory=list)
    _rules: list[EncodedRule] = field(default_factory=list)
    _facts: list[tuple[int | bool, ...]] = field(default_factory=list)  # the columns of `Rows` that hold no rules

    def __len__(self) -> int:
        return len(self._rows)

    def __post_init__(self) -> None:
        arch = self.arch
        self.lookup = _lookup(self.images)
        self.registers = list(dict.fromkeys((arch.sp, *arch.frame_pointers, *platform(arch).preserved)))

    def ask(self, pcs: NDArray[np.uint64], kind: int) -> None:
        """Ask for the rows at pcs, as far as that has not been done."""
        frame_kind = (FrameKind.INTERRUPTED, FrameKind.CALLER)[kind]
        pcs = distinct(pcs)
        place = self._place(pcs - np.uint64(kind))
        known = np.where(place < 0, self.lookup.outside[kind], self.lookup.map[kind, place])
        new = np.flatnonzero(known == UNASKED)
        for pc, at in zip(pcs[new].tolist(), place[new].tolist(), strict=True):
            frame = Frame(frame_kind, pc, _NoRegisters())
            try:
                row = self.row_for(frame, image_covering(self.images, frame.lookup_pc))
                entry = ROWS + self._number(self._at(pc, row))
            except UnwindError:
                entry = NO_ROW
            if at < 0:
                self.lookup.outside[kind] = entry
            else:
                self.lookup.map[kind, at] = entry

    def _place(self, pcs: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Where in the map each pc is, -1 outside all images."""
        found = np.full(len(pcs), -1, np.int64)
        for start, size, place in list(zip(*self.lookup[:3], strict=True))[::-1]:  # of the first that covers a pc
            inside = pcs - start < size
            found[inside] = place + (pcs[inside] - start).astype(np.int64)
        return found

    def _at(self, pc: int, row: UnwindRow) -> UnwindRow:
        """A row as it is at one pc: a `.plt` counts by an expression what each of its pcs has pushed."""
        cfa = sum_at(row.cfa.operations, self.arch, pc) if isinstance(row.cfa, ValExpression) else None
        if cfa is None:
            return row
        return self._counted.setdefault((id(row), cfa.offset), (row, replace(row, cfa=cfa)))[1]

    def _number(self, row: UnwindRow) -> int:
        if id(row) not in self._numbers:
            self._numbers[id(row)] = len(self._rows)
            self._rows.append(row)
            self._code(row)
        return self._numbers[id(row)]

    def _code(self, row: UnwindRow) -> None:
        """Append a row to the columns. A register's place, once given, never changes."""
        arch, word = self.arch, self.arch.word
        sp_rule = {arch.sp: Undefined() if row.cfa is None else ValOffset(0)}
        rules, bases = sp_rule | register_rules(row, arch), _bases(row)
        named = (*bases, *rules, row.return_address, row.outermost_if_zero or arch.sp)
        added = dict.fromkeys(name for name in named if name in arch.by_name and name != arch.pc)
        self.registers += [name for name in added if name not in self.registers]
        index = {name: i for i, name in enumerate(self.registers)}
        address_rule = return_address_rule(row, arch)
        address = coded_rule(address_rule, row.return_address, index, word)
        coded = [coded_rule(rule, name, index, arch.by_name[name].bits // 8) for name, rule in rules.items()]
        # What has no value is no rule: the caller does not know that register.
        explicit = [rule for rule in coded if rule.kind not in (SAME, UNDEFINED, UNKNOWN)]
        same = [rule.own for rule in coded if rule.kind == SAME]
        used = {*bases, arch.sp, *arch.frame_pointers, *(self.registers[i] for i in same)}
        used |= {row.outermost_if_zero or arch.sp, row.return_address if address.kind == SAME else arch.sp}
        self._cfa.append(coded_rule(row.cfa, "", index, word))
        self._return_address.append(address)
        facts = (
            len(self._rules),
            len(self._rules) + len(explicit),
            sum(1 << i for i in same),
            changed_bits(arch.index[name] for name in used if name in index),
            index.get(row.outermost_if_zero or "", -1),
            _is_slow(row, address_rule, arch),
            not is_in_memory(address_rule),
            row.is_signed,
            self.found_by.setdefault(row.found_by, len(self.found_by)),
        )
        self._facts.append(facts)
        self._rules += explicit

    def planned(self) -> Planned:
        """The rows asked for until now, as arrays."""
        arch = self.arch
        facts = zip(*self._facts, strict=True) if self._facts else [()] * len(_TYPES)
        columns: list[NDArray[Any]] = [np.array(column, dtype) for column, dtype in zip(facts, _TYPES, strict=True)]
        cfa, address, rules = (rules_in_columns(each) for each in (self._cfa, self._return_address, self._rules))
        word, code, signature = (np.uint64(mask) for mask in (arch.word_mask, arch.code_mask, arch.signature))
        pointers = np.int64(1 + len(arch.frame_pointers))
        return Planned(self.lookup, Rows(cfa, address, rules, *columns), word, code, signature, pointers)


# Of the columns of `Rows` that hold no rules.
_TYPES = (*[np.int64] * 2, *[np.uint64] * 2, np.int64, *[np.bool_] * 3, np.int32)


def fits(images: tuple[LoadedImage, ...]) -> bool:
    """False where the images are too big to be mapped byte by byte."""
    return sum(segment.size for loaded in images for segment in loaded.image.segments) <= MAX_SPAN


def _lookup(images: tuple[LoadedImage, ...]) -> Lookup:
    """Segments in the order in which `image_covering` tries them, code first; all pcs unasked."""
    segments = [(loaded, segment) for loaded in images for segment in loaded.image.segments if segment.size]
    segments.sort(key=lambda pair: not pair[1].executable)
    sizes = [segment.size for _, segment in segments]
    places = np.cumsum([0, *sizes])
    return Lookup(
        np.array([loaded.bias + segment.address for loaded, segment in segments], np.uint64),
        np.array(sizes, np.uint64),
        places[:-1].astype(np.int64),
        np.zeros((2, int(places[-1])), np.int32),
        np.zeros(2, np.int32),
    )


def _is_slow(row: UnwindRow, return_address: Rule | None, arch: Arch) -> bool:
    """True of a row that only `unwinders.rows.walk` applies: with an expression, or of a signal's frame.

    Or with what no format says, but a row could: a CFA that counts from itself, a rule that counts from the pc.
    """
    rules = (row.cfa, *row.registers.values())
    if row.signal_frame or any(isinstance(rule, ExpressionRule | ValExpression) for rule in rules):
        return True
    if isinstance(row.cfa, Offset | ValOffset | SameValue | Undefined) or arch.pc in _bases(row):
        return True
    return row.return_address == arch.pc and isinstance(return_address, SameValue)


def _bases(row: UnwindRow) -> list[str]:
    """The registers that a row's rules count from."""
    return [r.register for r in (row.cfa, *row.registers.values()) if isinstance(r, AtRegister | RegisterPlus)]
