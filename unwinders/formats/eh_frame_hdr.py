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

from collections.abc import Sequence
from struct import unpack_from

from testbed.contract.rows import UnwindRow
from testbed.image import Image, once_per_image
from testbed.words.errors import NoUnwindInfo, UnwindError
from unwinders.formats.cfi import CfiSection, cfi_section
from unwinders.formats.indexed import IndexedTable, Part, out_of_order
from unwinders.formats.reader import INDIRECT, OMIT, Reader, reader_of

SECTION, FRAME = ".eh_frame_hdr", ".eh_frame"

_VERSION = 1
_USUAL = 0x3B  # data relative, 4 bytes, signed
_VARIABLE = (0x01, 0x09)  # LEB128 formats: their entries have no common size, so nothing can be searched


@once_per_image
def search_table(image: Image) -> IndexedTable:
    """The search table of an image: which FDE each pc has, by the first pcs, sorted.

    Entries out of order are left out: a search leads past them. Where it then finds nothing, it says so.

    Raises NoUnwindInfo where the image lacks one of the two sections or the header has no table, MalformedTable
    where its header breaks the format.
    """
    header, frame = image.sections.get(SECTION), image.sections.get(FRAME)
    if header is None or frame is None:
        raise NoUnwindInfo(f"{image} has no {SECTION if header is None else FRAME}")
    word = image.arch.word
    reader = reader_of(image, header, SECTION)

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
    pairs = _usual_pairs(reader, count) if table_encoding == _USUAL else None
    if pairs is None:
        # A count that is too big ends where the bytes do: every entry takes some.
        pairs = [(pointer(table_encoding, "an entry"), pointer(table_encoding, "an entry")) for _ in range(count)]
    size = (reader.offset - start) // max(count, 1)
    return _sorted_table(cfi_section(image, FRAME), reader, pairs, start, size)


def _usual_pairs(reader: Reader, count: int) -> list[tuple[int, int]] | None:
    """Entries as linkers write them: distances from this section, 4 bytes each. None where it needs a closer look."""
    if 8 * count > reader.left:
        return None
    start, base = reader.offset, reader.address
    values = unpack_from(f"<{2 * count}i", reader.data, start)
    if 0 in values or any(value + base < 0 for value in values):
        return None
    reader.take(8 * count)
    return [(first + base, fde + base) for first, fde in zip(values[::2], values[1::2], strict=True)]


def _sorted_table(
    frame: CfiSection, reader: Reader, pairs: list[tuple[int, int]], start: int, size: int
) -> IndexedTable:
    """The table of the entries that are in order; ``start`` is where the first one stands."""
    wild = out_of_order([pc for pc, _ in pairs])
    unplaced: UnwindError | None = None
    if wild:
        first = min(wild)
        unplaced = reader.error(f"entry {first} is for {pairs[first][0]:#x}: not sorted", at=start + first * size)
        pairs = [pair for i, pair in enumerate(pairs) if i not in wild]
    first_pcs, fdes = tuple(pc for pc, _ in pairs), tuple(fde for _, fde in pairs)
    ends = [*first_pcs[1:], 1 << (8 * frame.arch.word)]

    def read(part: Part) -> Sequence[UnwindRow]:
        offset = fdes[part.entry] - frame.reader.address
        if not 0 <= offset < len(frame.reader.data):
            detail = f"{SECTION} names an FDE at {fdes[part.entry]:#x}, outside this section"
            raise frame.reader.error(detail, at=0)
        return frame.rows_at(offset)

    parts = tuple(Part(low, high, i) for i, (low, high) in enumerate(zip(first_pcs, ends, strict=False)) if low < high)
    return IndexedTable(SECTION, parts, read, unplaced)
