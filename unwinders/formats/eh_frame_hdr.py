"""`.eh_frame_hdr`: the sorted search table over `.eh_frame`, and the rows that a search in it finds.

Layout (LSB 5.0 core, section 10.6.2)::

    version 1; encodings of the three parts below, one byte each
    pointer to .eh_frame
    number of FDEs
    table of (first pc, address of the FDE), sorted by the first; "data relative" is relative to this section

A search gives the last entry whose first pc is not above the pc. What the FDE there says about its own range still
holds: between two functions the search finds the one before, which does not cover the pc.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

from testbed.arch import Arch
from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image, Section
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.cfi_entries import fde_at
from unwinders.formats.cfi_rows import fde_rows
from unwinders.formats.reader import INDIRECT, OMIT, Reader

SECTION, FRAME = ".eh_frame_hdr", ".eh_frame"

_VERSION = 1
_VARIABLE = (0x01, 0x09)  # LEB128 formats: their entries have no common size, so nothing can be searched


@dataclass(frozen=True, eq=False)
class SearchTable:
    """The table of one image: first pcs, sorted, and the address of the FDE that each belongs to."""

    arch: Arch
    frame: Section
    first_pcs: tuple[int, ...] = field(repr=False)
    fdes: tuple[int, ...] = field(repr=False)
    rows_found: dict[int, RowTable] = field(default_factory=dict, repr=False)  # by place in the table, as asked for

    def at(self, pc: int) -> UnwindRow | None:
        """The row in force at a link-time pc, or None: the FDE that the search finds has none for it.

        Raises MalformedTable where that FDE, or the entry that names it, is broken. Other FDEs are not looked at.
        """
        i = bisect_right(self.first_pcs, pc) - 1
        return self.rows_of(i).at(pc) if i >= 0 else None

    def rows_of(self, i: int) -> RowTable:
        """The rows that a search can find through entry ``i``: its FDE's, cut to the pcs that lead to it."""
        if i not in self.rows_found:
            reader = Reader(FRAME, self.frame.address, self.frame.data)
            offset = self.fdes[i] - self.frame.address
            if not 0 <= offset < len(self.frame.data):
                raise reader.error(f"{SECTION} names an FDE at {self.fdes[i]:#x}, outside this section", at=0)
            word = self.arch.word
            low = self.first_pcs[i]
            high = self.first_pcs[i + 1] if i + 1 < len(self.first_pcs) else 1 << (8 * word)
            rows = [
                replace(row, start=max(row.start, low), end=min(row.end, high))
                for row in fde_rows(fde_at(reader, offset, word), reader, self.arch)
                if row.start < high and row.end > low
            ]
            self.rows_found[i] = RowTable(SECTION, tuple(rows))
        return self.rows_found[i]

    def all_rows(self) -> RowTable:
        """What a search finds at any pc."""
        return RowTable(SECTION, tuple(row for i in range(len(self.fdes)) for row in self.rows_of(i)))


_TABLES: WeakKeyDictionary[Image, SearchTable] = WeakKeyDictionary()


def search_table(image: Image) -> SearchTable:
    """The search table of an image, read once.

    Raises NoUnwindInfo where the image lacks one of the two sections or the header has no table, MalformedTable
    where its bytes break the format. A table that is not sorted is malformed: a search in it would find anything.
    """
    if image not in _TABLES:
        _TABLES[image] = _read(image)
    return _TABLES[image]


def _read(image: Image) -> SearchTable:
    header, frame = image.sections.get(SECTION), image.sections.get(FRAME)
    if header is None or frame is None:
        raise NoUnwindInfo(f"{image} has no {SECTION if header is None else FRAME}")
    word = image.arch.word
    reader = Reader(SECTION, header.address, header.data)

    def pointer(encoding: int, what: str) -> int:
        at = reader.offset
        value = reader.pointer(encoding, word, data_base=header.address)
        if value is None or encoding & INDIRECT:
            raise reader.error(f"{what} has the pointer encoding {encoding:#x}", at=at)
        return value

    if (version := reader.unsigned(1)) != _VERSION:
        raise reader.error(f"version {version} is not {_VERSION}", at=0)
    frame_encoding, count_encoding, table_encoding = reader.take(3)
    if frame_encoding != OMIT:
        at = reader.offset
        said = pointer(frame_encoding, "the pointer to .eh_frame")
        if said != frame.address:
            raise reader.error(f"the header is for an .eh_frame at {said:#x}; it is at {frame.address:#x}", at=at)
    if OMIT in (count_encoding, table_encoding):
        raise NoUnwindInfo(f"{SECTION} of {image} has no search table")
    if table_encoding & 0x0F in _VARIABLE:
        raise reader.error(f"entries of the pointer encoding {table_encoding:#x} cannot be searched", at=3)
    count = pointer(count_encoding, "the number of FDEs")
    start = reader.offset
    # A count that is too big ends where the bytes do: every entry takes some.
    pairs = [(pointer(table_encoding, "an entry"), pointer(table_encoding, "an entry")) for _ in range(count)]
    size = (reader.offset - start) // max(count, 1)
    for i, (left, right) in enumerate(pairwise(pc for pc, _ in pairs)):
        if left > right:
            raise reader.error(
                f"entry {i + 1} is for {right:#x}, after {left:#x}: not sorted", at=start + (i + 1) * size
            )
    return SearchTable(image.arch, frame, tuple(pc for pc, _ in pairs), tuple(fde for _, fde in pairs))
