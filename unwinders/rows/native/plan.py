"""What a row technique claims at the pcs of a trace, as columns for the native walk.

A plan holds no knowledge of any format: it asks the strategy's own ``row_for``, once per pc and kind of frame, when
the walk first comes there, and codes the row it gets. So it says what the strategy says, errors included. All it
needs is that ``row_for`` looks at a frame's pc and kind only; a plan's frames have no registers to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from testbed.arch import Arch
from testbed.contract.frames import Frame, FrameKind
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
from testbed.image import LoadedImage, image_covering
from testbed.trace.trace import changed_bits
from testbed.words.errors import NoUnwindInfo, UnwindError
from unwinders.rows.apply import register_rules, return_address_rule
from unwinders.rows.native.codes import (
    AT_CFA,
    AT_REGISTER,
    CFA_PLUS,
    CONSTANT,
    NEVER,
    NO_ROW,
    NONE,
    REGISTER_PLUS,
    ROWS,
    SAME,
    SIGNED,
    SLOW,
    STAYS,
    UNASKED,
    UNDEFINED,
    Lookup,
    Planned,
    Rows,
    RuleColumns,
)
from unwinders.rows.walk import RowFor

MAX_SPAN = 1 << 30  # bytes of all segments together that the maps cover; their unused pages are never touched


class Coded(NamedTuple):
    """One rule: where it counts from, and how wide its value is."""

    kind: int
    base: int = 0
    offset: int = 0
    size: int = 0


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
    _cfa: list[tuple[int, Coded]] = field(default_factory=list)
    _ra: list[tuple[int, Coded]] = field(default_factory=list)
    _rules: list[tuple[int, Coded]] = field(default_factory=list)
    _same: list[int] = field(default_factory=list)
    _uses: list[int] = field(default_factory=list)
    _facts: list[tuple[int, ...]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._rows)

    def __post_init__(self) -> None:
        arch = self.arch
        self.lookup = _lookup(self.images)
        self.registers = list(dict.fromkeys((arch.sp, *arch.frame_pointers, *arch.preserved)))

    def ask(self, pcs: Iterable[int], kind: int) -> None:
        """Ask for the rows at pcs, as far as that has not been done."""
        frame_kind = (FrameKind.INTERRUPTED, FrameKind.CALLER)[kind]
        for pc in pcs:
            frame = Frame(frame_kind, pc, _NoRegisters())
            at = self._place(frame.lookup_pc)
            known = self.lookup.outside if at < 0 else self.lookup.map[:, at]
            if known[kind] == UNASKED:
                loaded = image_covering(self.images, frame.lookup_pc)
                try:
                    known[kind] = ROWS + self._number(self.row_for(frame, loaded))
                except UnwindError:
                    known[kind] = NO_ROW

    def _place(self, pc: int) -> int:
        for start, size, place in zip(*(column.tolist() for column in self.lookup[:3]), strict=True):
            if start <= pc < start + size:
                return int(place) + pc - int(start)
        return -1

    def _number(self, row: UnwindRow) -> int:
        if id(row) not in self._numbers:
            self._numbers[id(row)] = len(self._rows)
            self._rows.append(row)
            self._code(row)
        return self._numbers[id(row)]

    def _code(self, row: UnwindRow) -> None:
        """Append a row to the columns. A register's place, once given, never changes."""
        arch, its_rules = self.arch, register_rules(row, self.arch)
        bases = _bases(row)
        names = [*bases, *its_rules, row.return_address, row.outermost_if_zero or arch.sp]
        added = dict.fromkeys(n for n in names if n in arch.by_name and n != arch.pc)
        self.registers += [name for name in added if name not in self.registers]
        index = {name: i for i, name in enumerate(self.registers)}
        rule, word = _return_address(row, arch), 8 * arch.word
        cfa = Coded(NONE) if row.cfa is None else _coded(row.cfa, "", index, word)
        ra = Coded(NONE) if rule is None else _coded(rule, row.return_address, index, word)
        coded = {name: _coded(rule, name, index, arch.by_name[name].bits) for name, rule in its_rules.items()}
        # What has no value is no rule: the caller does not know that register.
        explicit = [(index[n], c) for n, c in coded.items() if c.kind not in (SAME, UNDEFINED, NEVER)]
        same = sum(1 << index[name] for name, c in coded.items() if c.kind == SAME)
        used = {*bases, arch.sp, *arch.frame_pointers, *(name for name, c in coded.items() if c.kind == SAME)}
        used |= {row.outermost_if_zero or arch.sp, row.return_address if ra.kind == SAME else arch.sp}
        uses = changed_bits(arch.index[name] for name in used if name in index)
        zero = index.get(row.outermost_if_zero or "", -1)
        found_by = self.found_by.setdefault(row.found_by, len(self.found_by))
        self._cfa.append((0, cfa))
        self._ra.append((0, ra))
        places = (len(self._rules), len(explicit), found_by)
        self._facts.append((_special(row, rule, arch), zero, *places))
        self._rules += explicit
        self._same.append(same)
        self._uses.append(uses)

    def planned(self) -> Planned:
        """The rows asked for until now, as arrays."""
        arch = self.arch
        rows = Rows(
            _columns(self._cfa),
            _columns(self._ra),
            _columns(self._rules),
            np.array(self._same, np.uint64),
            np.array(self._uses, np.uint64),
            np.array(self._facts, np.int64).reshape(-1, 5),
        )
        word_mask, code_mask, signature = map(np.uint64, (arch.word_mask, arch.code_mask, arch.signature))
        pointers = np.int64(1 + len(arch.frame_pointers))
        return Planned(self.lookup, rows, word_mask, code_mask, signature, pointers)


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


def _coded(rule: Rule, name: str, index: Mapping[str, int], bits: int) -> Coded:
    """A rule for register ``name`` (empty: the CFA), given the places of the registers."""
    size = bits // 8
    match rule:
        case AtCfa(offset):
            return Coded(AT_CFA, 0, offset, size)
        case CfaPlus(offset):
            return Coded(CFA_PLUS, 0, offset, size)
        case AtRegister(register, offset) if register in index:
            return Coded(AT_REGISTER, index[register], offset, size)
        case RegisterPlus(register, offset) if register in index:
            return Coded(REGISTER_PLUS, index[register], offset, size)
        case SameValue() if name in index:
            return Coded(SAME, index[name], 0, size)
        case Constant(value):
            return Coded(CONSTANT, 0, value, size)
        case Undefined():
            return Coded(UNDEFINED)
        case _:  # a register that is not recorded; an expression, whose row is SLOW
            return Coded(NEVER)


def _columns(rules: list[tuple[int, Coded]]) -> RuleColumns:
    columns = np.array([(c.kind, c.base, c.size, own) for own, c in rules], np.int64).reshape(-1, 4)
    return RuleColumns(columns, np.array([c.offset % (1 << 64) for _, c in rules], np.uint64))


def _special(row: UnwindRow, return_address: Rule | None, arch: Arch) -> int:
    """The bits of what `unwinders.rows.walk` and `unwinders.rows.apply` treat apart."""
    rules = (row.cfa, *row.registers.values())
    slow = row.signal_frame or any(isinstance(rule, AtExpression | IsExpression) for rule in rules)
    # What no format says, but a row could: a CFA that counts from itself, a rule that counts from the pc.
    slow = slow or isinstance(row.cfa, AtCfa | CfaPlus | SameValue | Undefined) or arch.pc in _bases(row)
    slow = slow or (row.return_address == arch.pc and isinstance(return_address, SameValue))
    return (
        (SLOW if slow else 0)
        | (STAYS if not isinstance(return_address, AtCfa | AtRegister | AtExpression) else 0)
        | (SIGNED if row.is_signed else 0)
    )


def _return_address(row: UnwindRow, arch: Arch) -> Rule | None:
    """Where a row says the return address is; None where nothing says it."""
    try:
        return return_address_rule(row, arch)
    except NoUnwindInfo:
        return None


def _bases(row: UnwindRow) -> list[str]:
    """The registers that a row's rules count from."""
    return [r.register for r in (row.cfa, *row.registers.values()) if isinstance(r, AtRegister | RegisterPlus)]
