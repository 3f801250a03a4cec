"""`.sframe` as a row table: what profilers and the kernel unwind by, without a DWARF interpreter.

Source: The SFrame Format, versions 1, 2 (with its errata on where a start counts from) and 3; binutils documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.indexed import IndexedTable, Part, first_holds
from unwinders.formats.reader import reader_of
from unwinders.formats.sections import SFRAME
from unwinders.formats.sframe_entries import read_functions, read_header
from unwinders.formats.sframe_rows import MAX_ROWS, function_rows

SECTION = SFRAME

_INDEXES: WeakKeyDictionary[Image, IndexedTable] = WeakKeyDictionary()


def sframe_index(image: Image) -> IndexedTable:
    """Which function entry of `.sframe` each pc of an image has; its rows are read when they are asked for.

    In a table that calls itself sorted a search by halves is meant: of two functions that overlap, the one that
    starts later has the pcs from there on, and entries out of order are not found. In any other the first one in the
    section holds. Bytes behind the rows are not looked at: a linker that only joins sections leaves a second table
    there, which nobody finds. What breaks the format in one function's entry or rows is that function's only. Raises
    NoUnwindInfo where the image has no such section, MalformedTable where its header breaks the format,
    UnsupportedRule for an unknown version.
    """
    if image not in _INDEXES:
        _INDEXES[image] = _read(image)
    return _INDEXES[image]


def sframe_table(image: Image) -> RowTable:
    """All rows of `.sframe` of an image, sorted by pc, in link-time addresses. Raises as ``sframe_index`` does."""
    return sframe_index(image).all_rows()


def _read(image: Image) -> IndexedTable:
    section, arch = image.sections.get(SECTION), image.arch
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    reader = reader_of(image, section, SECTION)
    header = read_header(reader, arch)
    functions, unplaced = read_functions(reader, header, arch)

    def rows(part: Part) -> Sequence[UnwindRow]:
        entry = functions[part.entry]
        if entry.why is not None:
            raise entry.why.again()
        return tuple(function_rows(entry, reader, header, arch))

    if header.is_sorted:
        cuts = [*(entry.start for entry in functions[1:]), 1 << (8 * arch.word)]
        ends = [min(entry.end, cut) for entry, cut in zip(functions, cuts, strict=False)]
        ranges = [(entry.start, end) for entry, end in zip(functions, ends, strict=True)]
    else:
        ranges = [(entry.start, entry.end) for entry in functions]
    return IndexedTable(SECTION, first_holds(ranges), rows, unplaced, MAX_ROWS)
