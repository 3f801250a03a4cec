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
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.cfi_entries import fde_at, read_fdes
from unwinders.formats.cfi_rows import fde_rows
from unwinders.formats.compact_encodings import Dwarf, Encoded, encoded_row
from unwinders.formats.reader import Reader
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


@dataclass(frozen=True, eq=False)
class CompactTable:
    """The index of one image. Second-level pages are read as they are asked for, like a consumer that searches."""

    image: Image
    common: tuple[int, ...] = field(repr=False)
    pages: tuple[Page, ...] = field(repr=False)
    read: dict[int, tuple[Encoded, ...]] = field(default_factory=dict, repr=False)  # by number of the page
    rows_found: dict[Encoded, RowTable] = field(default_factory=dict, repr=False)

    def at(self, pc: int) -> UnwindRow | None:
        """The row in force at a link-time pc, or None: nothing is known there.

        Raises MalformedTable where the page or the entry that a search comes to is broken, UnsupportedRule where the
        entry has a mode that does not exist on this architecture. Other pages are not looked at.
        """
        number = bisect_right(self.pages, pc, key=lambda page: page.start) - 1
        if number < 0:
            return None
        entries = self.entries(number)
        i = bisect_right(entries, pc, key=lambda entry: entry.start) - 1
        return self.rows_of(entries[i]).at(pc) if i >= 0 else None

    def entries(self, number: int) -> tuple[Encoded, ...]:
        """The entries of one page. Raises MalformedTable where its bytes break the format."""
        if number not in self.read:
            self.read[number] = _read_page(self.image, self.pages[number], self.common)
        return self.read[number]

    def rows_of(self, entry: Encoded) -> RowTable:
        """The rows of one entry: one, or none, or those of the FDE that it defers to."""
        if entry not in self.rows_found:
            self.rows_found[entry] = RowTable(SECTION, _rows(self.image, entry))
        return self.rows_found[entry]

    def all_rows(self) -> RowTable:
        """What a search finds at any pc. Raises MalformedTable, also where pages share bytes without end."""
        reader, total = _reader(self.image), 0
        entries: list[Encoded] = []
        for number, page in enumerate(self.pages):
            if page.offset:
                total += int.from_bytes(reader.data[page.offset + 6 : page.offset + 8], "little")  # either kind's count
            if 4 * total > len(reader.data):
                raise reader.error("its pages have more entries than there are bytes for", at=page.offset)
            entries += self.entries(number)
        return RowTable(SECTION, tuple(row for entry in entries for row in self.rows_of(entry)))


_TABLES: WeakKeyDictionary[Image, CompactTable] = WeakKeyDictionary()


def compact_table(image: Image) -> CompactTable:
    """The compact unwind table of an image, its header and first-level index read once.

    Raises NoUnwindInfo where the image has none, MalformedTable where the bytes break the format. An index that is
    not sorted is malformed: a search in it would find anything.
    """
    if image not in _TABLES:
        _TABLES[image] = _read(image)
    return _TABLES[image]


def _reader(image: Image) -> Reader:
    section = image.sections.get(SECTION)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    return Reader(SECTION, section.address, section.data)


def _read(image: Image) -> CompactTable:
    reader = _reader(image)
    version, common_at, common_count, _, _, index_at, index_count = (reader.unsigned(4) for _ in range(7))
    if version != _VERSION:
        raise reader.error(f"version {version} is not {_VERSION}", at=0)
    common = _numbers(reader, common_at, common_count)
    fields = _numbers(reader, index_at, 3 * index_count)
    starts = [image.base + offset for offset in fields[0::3]]
    _sorted(reader, starts, index_at, 12, "index entry")
    pages = tuple(Page(low, high, page) for (low, high), page in zip(pairwise(starts), fields[1::3], strict=False))
    return CompactTable(image, common, pages)


def _numbers(reader: Reader, offset: int, count: int) -> tuple[int, ...]:
    """``count`` 4-byte numbers at an offset of the section, or of a page."""
    part = reader.part(offset, offset + 4 * count)
    return tuple(part.unsigned(4) for _ in range(count))


def _sorted(reader: Reader, starts: list[int], offset: int, size: int, what: str) -> None:
    for i, (left, right) in enumerate(pairwise(starts), 1):
        if left > right:
            raise reader.error(f"{what} {i} is for {right:#x}, after {left:#x}: not sorted", at=offset + i * size)


def _read_page(image: Image, page: Page, common: tuple[int, ...]) -> tuple[Encoded, ...]:
    if not page.offset:
        return ()
    reader = _reader(image)
    head = reader.part(page.offset, len(reader.data))
    kind = head.unsigned(4)
    entries_at, count = page.offset + head.unsigned(2), head.unsigned(2)
    if kind == _REGULAR:
        fields = _numbers(reader, entries_at, 2 * count)
        starts, encodings, size = [image.base + offset for offset in fields[0::2]], fields[1::2], 8
    elif kind == _COMPRESSED:
        own_at, own_count = page.offset + head.unsigned(2), head.unsigned(2)
        known = (*common, *_numbers(reader, own_at, own_count))
        fields, size = _numbers(reader, entries_at, count), 4
        starts = [page.start + (value & 0xFF_FFFF) for value in fields]
        for i, value in enumerate(fields):
            if value >> 24 >= len(known):
                raise reader.error(f"encoding {value >> 24} of {len(known)}", at=entries_at + i * size)
        encodings = tuple(known[value >> 24] for value in fields)
    else:
        raise reader.error(f"a page of kind {kind} is neither regular (2) nor compressed (3)", at=page.offset)
    _sorted(reader, starts, entries_at, size, "entry")
    ends = [*starts[1:], page.end] if starts else []
    return tuple(
        Encoded(start, min(end, page.end), encoding, entries_at + i * size)
        for i, (start, end, encoding) in enumerate(zip(starts, ends, encodings, strict=True))
        if page.start <= start < min(end, page.end)
    )


def _rows(image: Image, entry: Encoded) -> tuple[UnwindRow, ...]:
    found = encoded_row(image, entry, SECTION)
    if not isinstance(found, Dwarf):
        return () if found is None else (found,)
    frame = image.sections.get(FRAME)
    if frame is None:
        raise _reader(image).error(f"an entry defers to {FRAME}, which is not there", at=entry.offset)
    reader, word = Reader(FRAME, frame.address, frame.data), image.arch.word
    if found.offset:
        fde = fde_at(reader, found.offset, word)
    else:
        fdes = read_fdes(FRAME, frame.address, frame.data, word)
        named = next((fde for fde in fdes if fde.start <= entry.start < fde.end), None)
        if named is None:
            return ()
        fde = named
    return tuple(
        replace(row, start=max(row.start, entry.start), end=min(row.end, entry.end))
        for row in fde_rows(fde, reader, image.arch)
        if row.start < entry.end and row.end > entry.start
    )
