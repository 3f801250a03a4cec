"""`.eh_frame` and `.debug_frame` as row tables (DWARF 5, section 6.4; LSB 5.0 core, section 10.6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from weakref import WeakKeyDictionary

from testbed.contract.rows import RowTable, UnwindRow
from testbed.image import Image
from testbed.words.errors import NoUnwindInfo
from unwinders.formats.cfi_entries import read_fdes
from unwinders.formats.cfi_rows import fde_rows
from unwinders.formats.reader import Reader

_TABLES: WeakKeyDictionary[Image, dict[str, RowTable]] = WeakKeyDictionary()


def cfi_table(image: Image, section: str) -> RowTable:
    """All rows of a section of an image, sorted by pc, in link-time addresses; read once per image.

    Where FDEs overlap, the first one in the section holds, as for every consumer that searches the section
    linearly. Raises NoUnwindInfo where the image has no such section, MalformedTable where its bytes break the
    format: then the whole section is refused, since an entry whose length is wrong hides all that follow.
    """
    tables = _TABLES.setdefault(image, {})
    if section not in tables:
        tables[section] = _read(image, section)
    return tables[section]


def _read(image: Image, section: str) -> RowTable:
    found = image.sections.get(section)
    if found is None:
        raise NoUnwindInfo(f"{image} has no {section}")
    reader = Reader(section, found.address, found.data)
    rows: list[UnwindRow] = []
    for fde in read_fdes(section, found.address, found.data, image.arch.word):
        rows += fde_rows(fde, reader, image.arch)
    ordered = sorted(rows, key=lambda row: row.start)
    if any(left.end > right.start for left, right in pairwise(ordered)):
        ordered = without_overlaps(rows)
    return RowTable(section, tuple(ordered))


def without_overlaps(rows: Iterable[UnwindRow]) -> list[UnwindRow]:
    """The rows sorted by start, each cut back to the pcs that no earlier row of ``rows`` covers."""
    taken: list[tuple[int, int]] = []  # disjoint, sorted
    kept: list[UnwindRow] = []
    for row in rows:
        start = row.start
        i = max(bisect_right(taken, (start, start)) - 1, 0)
        free: list[tuple[int, int]] = []
        while start < row.end:
            while i < len(taken) and taken[i][1] <= start:
                i += 1
            low, high = taken[i] if i < len(taken) else (row.end, row.end)
            if start < low:
                free.append((start, min(low, row.end)))
            start = max(start, high)
        for low, high in free:
            kept.append(replace(row, start=low, end=high))
            taken.insert(bisect_right(taken, (low, high)), (low, high))
    return sorted(kept, key=lambda row: row.start)
