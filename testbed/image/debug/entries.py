"""Debugging information entries: units, abbreviations and the tree of ``.debug_info``, as values.

Of a unit its first entry is read with its header, and all others when they are asked for, in one pass from its first
byte to its last: siblings and references are never followed while reading, so no cycle in them can keep the reader
busy. Versions 2 to 5.

Source: DWARF 5, sections 7.5.1 (unit headers), 7.5.2 (entries), 7.5.3 (abbreviations).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from testbed.image.debug.forms import (
    Attribute,
    AttributeValue,
    Cursor,
    Form,
    Tag,
    UnitType,
    address_at,
    cursor,
    has,
    offset_text,
    read_form,
    string_at,
)
from testbed.image.model import Image
from testbed.words.errors import DebugInfoError
from testbed.words.printable import printable

MAX_DEPTH = 512  # of nesting: more is damage


@dataclass(slots=True, eq=False)
class DebugEntry:
    """One entry: its tag, its attributes as (form, raw value), its children."""

    unit: CompilationUnit = field(repr=False)
    offset: int
    tag: int
    values: Mapping[int, AttributeValue]
    children: list[DebugEntry] = field(default_factory=list, repr=False)

    def number(self, at: Attribute) -> int | None:
        """A constant or an offset, as it stands."""
        value = self.values.get(at)
        return value.raw if value is not None and isinstance(value.raw, int) else None

    def flag(self, *ats: Attribute) -> bool:
        return any((value := self.values.get(at)) is not None and bool(value.raw) for at in ats)

    def text(self, at: Attribute) -> str | None:
        value = self.values.get(at)
        return None if value is None else self.unit.text(value)

    def address(self, at: Attribute) -> int | None:
        value = self.values.get(at)
        return None if value is None else self.unit.address(value)

    def reference(self, at: Attribute) -> int | None:
        """The offset in ``.debug_info`` of the entry that an attribute refers to."""
        value = self.values.get(at)
        if value is None or not isinstance(value.raw, int):
            return None
        if value.form == Form.REF_ADDR:
            return value.raw
        return self.unit.offset + value.raw if value.form in _UNIT_REFERENCES else None


# Entries that are kept though nothing is below them, and the attributes that are kept: few, of what compilers write.
_KEPT = frozenset(Tag)
_ASKED = frozenset(Attribute)
_UNIT_REFERENCES = (Form.REF1, Form.REF2, Form.REF4, Form.REF8, Form.REF_UDATA)


@dataclass(eq=False)
class CompilationUnit:
    """One compilation unit: sizes, bases, and its first entry. ``first``: where its entries begin."""

    image: Image = field(repr=False)
    offset: int
    end: int
    version: int
    offset_size: int
    address_size: int
    first: int
    abbreviations: _Abbreviations = field(repr=False)
    top: DebugEntry | None = None

    def base(self, at: Attribute, default: int = 0) -> int:
        value = self.top.number(at) if self.top is not None else None
        return default if value is None else value

    def text(self, value: AttributeValue) -> str | None:
        if isinstance(value.raw, bytes):
            return printable(value.raw.decode("utf-8", "replace"))
        if value.form in (Form.STRX, Form.STRX1, Form.STRX2, Form.STRX3, Form.STRX4):
            base = self.base(Attribute.STR_OFFSETS_BASE, 8 if self.offset_size == 4 else 16)
            return string_at(self.image, base, value.raw, self.offset_size)
        return offset_text(self.image, value)

    def address(self, value: AttributeValue) -> int | None:
        """A link-time address, the Thumb bit as it stands in the file; None for a form that is none."""
        if not isinstance(value.raw, int):
            return None
        if value.form == Form.ADDR:
            return value.raw
        if value.form in (Form.ADDRX, Form.ADDRX1, Form.ADDRX2, Form.ADDRX3, Form.ADDRX4, Form.GNU_ADDR_INDEX):
            return address_at(self.image, self.base(Attribute.ADDR_BASE, 8), value.raw, self.address_size)
        return None


def read_units(image: Image) -> tuple[tuple[CompilationUnit, ...], tuple[DebugInfoError, ...]]:
    """The compilation units of an image, by offset, and what was wrong with those that are missing.

    A damaged unit costs itself only, as long as its length can be believed.
    """
    units: list[CompilationUnit] = []
    problems: list[DebugInfoError] = []
    if not has(image, ".debug_info"):
        return (), ()
    where = cursor(image, ".debug_info")
    abbreviations: dict[int, _Abbreviations] = {}
    while where.left > 0:
        start = where.offset
        try:
            end, offset_size = where.initial_length()
        except DebugInfoError as error:
            problems.append(error)
            break
        try:
            inside = cursor(image, ".debug_info", where.offset, end)
            unit = _unit(image, inside, start, offset_size, abbreviations)
            if unit is not None:
                units.append(unit)
        except DebugInfoError as error:
            problems.append(error)
        where.offset = end
    return tuple(units), tuple(problems)


def declares(image: Image, tag: Tag, attribute: Attribute) -> bool:
    """True where entries of a tag can have an attribute: asked of the abbreviations, no entry is read for it.

    What is behind damage declares nothing.
    """
    section, at = image.sections.get(".debug_abbrev"), 0
    while section is not None and (found := _DECLARATION.match(section.data, at)):
        if found[1] == bytes((tag,)) and bytes((attribute,)) in _PAIR.findall(found[2]):
            return True
        at = found.end()
    return False


# A declaration as it is written: its number, its tag, a flag, and pairs of an attribute and a form up to two zeros.
# Large files have some 100,000 of them. The constant of IMPLICIT_CONST (0x21) stands behind the form.
_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
_PAIR = re.compile(rb"(?!\0\0)(%b)(?:\x21%b|(?!\x21)%b)" % (_LEB, _LEB, _LEB))
_DECLARATION = re.compile(
    rb"\0*(?!\0)%b(%b)[\0\1]((?:(?!\0\0)%b(?:\x21%b|(?!\x21)%b))*)\0\0" % (_LEB, _LEB, _LEB, _LEB, _LEB), re.DOTALL
)


@dataclass(frozen=True, slots=True)
class _Abbreviation:
    tag: int
    children: bool
    attributes: tuple[tuple[int, int, int], ...]  # attribute, form, implicit constant
    kept: bool  # something here asks for its entries, or for what is below them


def _unit(
    image: Image, at: Cursor, start: int, offset_size: int, known: dict[int, _Abbreviations]
) -> CompilationUnit | None:
    version = at.unsigned(2)
    if not 2 <= version <= 5:
        raise at.error(f"DWARF version {version} is none of 2 to 5", start)
    if version >= 5:
        kind, address_size, table = at.unsigned(1), at.unsigned(1), at.unsigned(offset_size)
        if kind in (UnitType.SKELETON, UnitType.SPLIT_COMPILE):
            at.take(8)  # the number of the file with the rest, which is not asked
        elif kind not in (UnitType.COMPILE, UnitType.PARTIAL):
            return None  # types have no code
    else:
        table, address_size = at.unsigned(offset_size), at.unsigned(1)
    if address_size not in (4, 8):
        raise at.error(f"addresses of {address_size} bytes", start)
    if table not in known:
        known[table] = _Abbreviations(cursor(image, ".debug_abbrev", table))
    unit = CompilationUnit(image, start, at.end, version, offset_size, address_size, at.offset, known[table])
    read = _entry(unit, at)
    unit.top = read[0] if read is not None else None
    if unit.top is None or unit.top.tag not in (Tag.COMPILE_UNIT, Tag.PARTIAL_UNIT, Tag.SKELETON_UNIT):
        raise at.error("this unit does not begin with an entry of a compilation unit", unit.offset)
    return unit


class _Abbreviations(dict[int, _Abbreviation]):
    """The declarations of one table by code, read as far as one was asked for."""

    def __init__(self, at: Cursor) -> None:
        super().__init__()
        self._rest = _declared(at)

    def __missing__(self, code: int) -> _Abbreviation:
        for number, kind in self._rest:
            self[number] = kind
            if number == code:
                return kind
        raise KeyError(code)


def _declared(at: Cursor) -> Iterator[tuple[int, _Abbreviation]]:
    known: set[int] = set()
    while code := at.uleb():
        tag, children = at.uleb(), bool(at.unsigned(1))
        attributes = []
        while True:
            at.account.spend("entries", 1, at.offset)
            name, form = at.uleb(), at.uleb()
            constant = at.sleb() if form == Form.IMPLICIT_CONST else 0
            if not name and not form:
                break
            attributes.append((name, form, constant))
        if code in known:
            raise at.error(f"abbreviation {code} twice in one table")
        known.add(code)
        yield code, _Abbreviation(tag, children, tuple(attributes), children or tag in _KEPT)


def read_entries(unit: CompilationUnit) -> dict[int, DebugEntry]:
    """The entries of a unit that something here asks for, by offset. Raises DebugInfoError for damage in any."""
    at = cursor(unit.image, ".debug_info", unit.first, unit.end)
    entries: dict[int, DebugEntry] = {}
    parents: list[DebugEntry] = []
    while at.left > 0:
        read = _entry(unit, at)
        if read is None:
            if not parents:
                break  # padding behind the last entry
            parents.pop()
            continue
        entry, has_children = read
        if entry is None:
            continue
        entries[entry.offset] = entry
        if parents:
            parents[-1].children.append(entry)
        if has_children:
            parents.append(entry)
            if len(parents) > MAX_DEPTH:
                raise at.error(f"entries nested deeper than {MAX_DEPTH}", entry.offset)
    return entries


def _entry(unit: CompilationUnit, at: Cursor) -> tuple[DebugEntry | None, bool] | None:
    """The next entry, where something asks for it, and whether others are below it; None: it ends those of a parent."""
    offset = at.offset
    code = at.uleb()
    if code == 0:
        return None
    try:
        kind = unit.abbreviations[code]
    except KeyError:
        raise at.error(f"abbreviation {code} is not declared", offset) from None
    at.account.spend("steps", 1 + len(kind.attributes), offset)
    values = {name: read_form(at, form, constant, unit) for name, form, constant in kind.attributes}
    if not kind.kept:
        return None, False
    values = {name: value for name, value in values.items() if name in _ASKED}
    at.account.spend("entries", 2 + len(values) // 4, offset)
    return DebugEntry(unit, offset, kind.tag, values), kind.children
