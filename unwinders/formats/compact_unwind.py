"""`__TEXT,__unwind_info`: Apple's compact unwind table, a sorted two-level index of 32-bit encodings.

Layout (LLVM, ``include/mach-o/compact_unwind_encoding.h``; every number little-endian, 4 bytes unless said)::

    header: version 1; then {offset, count} of the common encodings, of the personalities, of the first-level index
    common encodings, personalities: arrays of numbers
    first-level index: {function offset, offset of the second-level page, offset into the LSDA index}, sorted;
        the last one has no page: it is where the last function ends
    regular page (2):    offset of the entries (2 bytes), count (2); entries {function offset, encoding}
    compressed page (3): offset of the entries (2), count (2), offset of the page's encodings (2), count (2);
        entries: bits 0-23 distance from the index entry's function offset, bits 24-31 number of the encoding,
        the common encodings first, then the page's own

Function offsets count from the image's base, page offsets from the section, offsets in a page from the page. An entry
holds up to the next one. What an encoding means is in `unwinders.formats.compact_encodings`. The LSDA index and the
personalities are for exceptions: they are not needed to find a caller, and are not read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from struct import unpack_from
from weakref import WeakKeyDictionary

from testbed.contract.rows import BrokenPart, RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import MalformedTable, NoUnwindInfo
from unwinders.formats.cfi import cfi_index, cfi_section
from unwinders.formats.compact_encodings import Dwarf, Encoded, encoded_row
from unwinders.formats.indexed import IndexedTable, Part, up_to_the_next
from unwinders.formats.reader import Reader, reader_of
from unwinders.formats.sections import MACH_O_EH_FRAME, UNWIND_INFO

SECTION, FRAME = UNWIND_INFO, MACH_O_EH_FRAME

_VERSION = 1
_REGULAR, _COMPRESSED = 2, 3


@dataclass(frozen=True, slots=True)
class Page:
    """One entry of the first-level index: a second-level page for the link-time pcs ``[start, end)``."""

    start: int
    end: int
    offset: int  # in the section; 0: nothing is known about these pcs
    no_end: MalformedTable | None = None  # the entry behind it is broken: where its last function ends is not known


@dataclass(frozen=True, eq=False)
class CompactTable:
    """The index of one image. Second-level pages are read as they are asked for, like a consumer that searches."""

    image: Image
    common: tuple[int, ...] = field(repr=False)
    pages: tuple[Page, ...] = field(repr=False)
    read: dict[int, IndexedTable | MalformedTable] = field(default_factory=dict, repr=False)  # by number of the page

    def at(self, pc: int) -> UnwindRow | None:
        """The row in force at a link-time pc, or None: nothing is known there.

        Raises MalformedTable where the page or the entry that a search comes to is broken, UnsupportedRule where the
        entry has a mode that does not exist on this architecture. Others are not looked at.
        """
        number = bisect_right(self.pages, pc, key=lambda page: page.start) - 1
        if number < 0 or pc >= self.pages[number].end:
            return None
        found = self.page(number)
        if isinstance(found, MalformedTable):
            raise found.again()
        return found.at(pc)

    def page(self, number: int) -> IndexedTable | MalformedTable:
        """The functions of one page, or what is wrong with all of it."""
        if number not in self.read:
            try:
                entries = self.entries(number)
                parts = tuple(Part(entry.start, entry.end, i) for i, entry in enumerate(entries))
                self.read[number] = IndexedTable(SECTION, parts, partial(_rows, self.image, entries))
            except MalformedTable as why:
                self.read[number] = why.again()
        return self.read[number]

    def entries(self, number: int) -> tuple[Encoded | BrokenPart, ...]:
        """The entries of one page, sorted and disjoint. Raises MalformedTable where its bytes break the format."""
        return _read_page(self.image, self.pages[number], self.common)

    def all_rows(self) -> RowTable:
        """What a search finds at any pc. Raises MalformedTable where pages share bytes without end."""
        reader, total = _reader(self.image), 0
        rows: list[UnwindRow] = []
        broken: list[BrokenPart] = []
        for number, page in enumerate(self.pages):
            if page.offset:
                total += int.from_bytes(reader.data[page.offset + 6 : page.offset + 8], "little")  # either kind's count
            if 4 * total > len(reader.data):
                raise reader.error("its pages have more entries than there are bytes for", at=page.offset)
            found = self.page(number)
            if isinstance(found, MalformedTable):
                broken.append(BrokenPart(page.start, page.end, found))
                continue
            table = found.all_rows()
            rows += table.rows
            broken += table.broken
        return RowTable(SECTION, tuple(rows), tuple(broken))


_TABLES: WeakKeyDictionary[Image, CompactTable] = WeakKeyDictionary()


def compact_table(image: Image) -> CompactTable:
    """The compact unwind table of an image, its header and first-level index read once.

    Raises NoUnwindInfo where the image has none, MalformedTable where the header breaks the format.
    """
    if image not in _TABLES:
        _TABLES[image] = _read(image)
    return _TABLES[image]


def _reader(image: Image) -> Reader:
    section = image.sections.get(SECTION)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    return reader_of(image, section, SECTION)


def _read(image: Image) -> CompactTable:
    reader = _reader(image)
    version, common_at, common_count, _, _, index_at, index_count = (reader.unsigned(4) for _ in range(7))
    if version != _VERSION:
        raise reader.error(f"version {version} is not {_VERSION}", at=0)
    common = _numbers(reader, common_at, common_count)
    fields = _numbers(reader, index_at, 3 * index_count)
    starts = [image.base + offset for offset in fields[0::3]]
    pages: list[Page] = []
    for part, hidden in up_to_the_next(starts, 1 << (8 * image.arch.word)):
        why = None if hidden is None else _not_sorted(reader, starts, hidden, index_at, 12, "index entry")
        if part.entry == hidden:  # no page that could be read lies before the broken one
            pages.append(Page(part.start, part.end, 0, why))
        elif part.entry < len(starts) - 1:  # the last one is where the last function ends
            pages.append(Page(part.start, part.end, fields[3 * part.entry + 1], why))
    return CompactTable(image, common, tuple(pages))


def _numbers(reader: Reader, offset: int, count: int) -> tuple[int, ...]:
    """``count`` 4-byte numbers at an offset of the section, or of a page."""
    part = reader.part(offset, offset + 4 * count)
    return unpack_from(f"<{count}I", part.data, offset)


def _not_sorted(reader: Reader, starts: Sequence[int], i: int, offset: int, size: int, what: str) -> MalformedTable:
    return reader.error(f"{what} {i} is for {starts[i]:#x}: not sorted", at=offset + i * size)


def _read_page(image: Image, page: Page, common: tuple[int, ...]) -> tuple[Encoded | BrokenPart, ...]:
    reader = _reader(image)
    if not page.offset:
        if page.no_end is not None:
            raise page.no_end
        return ()
    head = reader.part(page.offset, len(reader.data))
    reader.spend("entries", 1 + len(common) // 8)
    kind = head.unsigned(4)
    entries_at, count = page.offset + head.unsigned(2), head.unsigned(2)
    encodings: list[int | MalformedTable]
    if kind == _REGULAR:
        fields = _numbers(reader, entries_at, 2 * count)
        starts, encodings, size = [image.base + offset for offset in fields[0::2]], list(fields[1::2]), 8
    elif kind == _COMPRESSED:
        own_at, own_count = page.offset + head.unsigned(2), head.unsigned(2)
        known = (*common, *_numbers(reader, own_at, own_count))
        fields, size = _numbers(reader, entries_at, count), 4
        starts = [page.start + (value & 0xFF_FFFF) for value in fields]
        encodings = [
            known[value >> 24]
            if value >> 24 < len(known)
            else reader.error(f"encoding {value >> 24} of {len(known)}", at=entries_at + i * size)
            for i, value in enumerate(fields)
        ]
    else:
        raise reader.error(f"a page of kind {kind} is neither regular (2) nor compressed (3)", at=page.offset)
    reader.spend("entries", len(starts) // 2)
    entries: list[Encoded | BrokenPart] = []
    for part, hidden in up_to_the_next(starts, page.end):
        encoding, why = encodings[part.entry], page.no_end if part.end == page.end else None
        if hidden is not None:
            why = _not_sorted(reader, starts, hidden, entries_at, size, "entry")
        start, end = page.start if part.entry == hidden else part.start, min(part.end, page.end)
        if not page.start <= start < end:
            continue
        if isinstance(encoding, MalformedTable):
            why = why or encoding
        elif why is None:
            entries.append(Encoded(start, end, encoding, entries_at + part.entry * size))
        if why is not None:
            entries.append(BrokenPart(start, end, why))
    return tuple(entries)


def _rows(image: Image, entries: Sequence[Encoded | BrokenPart], part: Part) -> Sequence[UnwindRow]:
    """The rows of one entry: one, or none, or those of the FDE that it defers to."""
    entry = entries[part.entry]
    if isinstance(entry, BrokenPart):
        raise entry.why.again()
    found = encoded_row(image, entry, SECTION)
    if not isinstance(found, Dwarf):
        return () if found is None else (found,)
    if FRAME not in image.sections:
        raise _reader(image).error(f"an entry defers to {FRAME}, which is not there", at=entry.offset)
    if found.offset:
        return cfi_section(image, FRAME).rows_at(found.offset)
    return cfi_index(image, FRAME).rows_around(entry.start)
