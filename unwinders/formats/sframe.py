"""`.sframe` as a row table: what profilers and the kernel unwind by, without a DWARF interpreter.

Source: The SFrame Format, versions 1, 2 (with its errata on where a start counts from) and 3; binutils documentation.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from weakref import WeakKeyDictionary

from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.cfi import without_overlaps
from unwinders.formats.reader import Reader
from unwinders.formats.sections import SFRAME
from unwinders.formats.sframe_entries import read_functions, read_header
from unwinders.formats.sframe_rows import MAX_ROWS, function_rows

SECTION = SFRAME

_TABLES: WeakKeyDictionary[Image, RowTable] = WeakKeyDictionary()


def sframe_table(image: Image) -> RowTable:
    """All rows of `.sframe` of an image, sorted by pc, in link-time addresses; read once per image.

    In a table that calls itself sorted a search by halves is meant: of two functions that overlap, the one that
    starts later has the pcs from there on. In any other the first one in the section holds. Bytes behind the rows
    are not looked at: a linker that only joins sections leaves a second table there, which nobody finds. Raises
    NoUnwindInfo where the image has no such section, MalformedTable where its bytes break the format,
    UnsupportedRule for an unknown version.
    """
    if image not in _TABLES:
        _TABLES[image] = _read(image)
    return _TABLES[image]


def _read(image: Image) -> RowTable:
    section = image.sections.get(SECTION)
    if section is None:
        raise NoUnwindInfo(f"{image} has no {SECTION}")
    reader = Reader(SECTION, section.address, section.data)
    header = read_header(reader, image.arch)
    functions = read_functions(reader, header, image.arch)
    if header.is_sorted:
        cuts = [*(entry.start for entry in functions), 1 << (8 * image.arch.word)][1:]
        functions = tuple(replace(entry, end=min(entry.end, cut)) for entry, cut in zip(functions, cuts, strict=False))
    rows: list[UnwindRow] = []
    for entry in functions:
        rows += function_rows(entry, reader, header, image.arch)
        if len(rows) > MAX_ROWS:
            raise reader.error(f"more than {MAX_ROWS} rows", at=entry.offset)
    ordered = sorted(rows, key=lambda row: row.start)
    if any(left.end > right.start for left, right in pairwise(ordered)):
        ordered = without_overlaps(rows)
    return RowTable(SECTION, tuple(ordered))
