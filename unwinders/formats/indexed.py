"""A table looked up by index: where its entries lie is known, an entry is read when a pc in it is asked for.

So the first frame costs one entry, however large the section, and an entry that cannot be read is the matter of its own
pcs only: they get its error, each time anew, and all other pcs get their rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

from testbed.contract.rows import BrokenPart, RowTable, UnwindRow
from testbed.words.errors import MalformedTable, UnwindError


@dataclass(frozen=True, slots=True)
class Part:
    """The link-time pcs ``[start, end)`` that are the ``entry``-th entry's."""

    start: int
    end: int
    entry: int


@dataclass(frozen=True, eq=False)
class IndexedTable:
    """The parts of a table, sorted and disjoint, and how the rows of one are read.

    ``read`` gives rows sorted by start and disjoint, which may reach beyond the part: they are cut to it. It raises an
    UnwindError where there are none to be had. ``unplaced`` is the reason of entries that do not say their pcs.
    """

    source: str
    parts: tuple[Part, ...] = field(repr=False)
    read: Callable[[Part], Sequence[UnwindRow]] = field(repr=False)
    unplaced: UnwindError | None = None
    most_rows: int = 1 << 63  # of all parts together, where few bytes can make many
    known: dict[int, RowTable | UnwindError] = field(default_factory=dict, repr=False)  # by place in `parts`

    def at(self, pc: int) -> UnwindRow | None:
        """The row in force at a link-time pc, or None: the table says nothing about it.

        Raises the error of the entry that covers the pc; where none gives a row, that of entries without a place.
        """
        i = bisect_right(self.parts, pc, key=_start) - 1
        if i >= 0 and pc < self.parts[i].end:
            found = self.rows_of(i)
            if isinstance(found, UnwindError):
                raise found.again()
            row = found.at(pc)
            if row is not None:
                return row
        if self.unplaced is not None:
            raise self.unplaced.again()
        return None

    def rows_around(self, pc: int) -> Sequence[UnwindRow]:
        """All rows of the entry that covers a link-time pc; none where no entry does. Raises its error."""
        i = bisect_right(self.parts, pc, key=_start) - 1
        if i < 0 or pc >= self.parts[i].end:
            return ()
        return self.read(self.parts[i])

    def rows_of(self, i: int) -> RowTable | UnwindError:
        """The rows of the ``i``-th part, read once, or why there are none."""
        if i not in self.known:
            part = self.parts[i]
            try:
                self.known[i] = RowTable(self.source, cut(self.read(part), part.start, part.end))
            except UnwindError as why:
                self.known[i] = why.again()
        return self.known[i]

    def all_rows(self) -> RowTable:
        """What ``at`` says at every pc: all rows, and the parts that cannot be read; put together once."""
        return self._whole

    @cached_property
    def _whole(self) -> RowTable:
        rows: list[UnwindRow] = []
        broken: list[BrokenPart] = []
        too_many = MalformedTable(self.source, 0, f"more than {self.most_rows} rows")
        for i, part in enumerate(self.parts):
            found = self.rows_of(i) if len(rows) <= self.most_rows else too_many
            if isinstance(found, UnwindError):
                broken.append(BrokenPart(part.start, part.end, found))
            else:
                rows += found.rows
        entries = tuple((part.start, part.end, part.entry) for part in self.parts)
        return RowTable(self.source, tuple(rows), tuple(broken), self.unplaced, entries)


def _start(part: Part) -> int:
    return part.start


def cut(rows: Sequence[UnwindRow], start: int, end: int) -> tuple[UnwindRow, ...]:
    """The rows, sorted and disjoint, as far as they lie in ``[start, end)``; those that do stay the same objects."""
    first = bisect_right(rows, start, key=lambda row: row.end)
    last = bisect_right(rows, end - 1, key=lambda row: row.start)
    return tuple(
        row
        if start <= row.start and row.end <= end
        else replace(row, start=max(row.start, start), end=min(row.end, end))
        for row in rows[first:last]
    )


def first_holds(ranges: Sequence[tuple[int, int]]) -> tuple[Part, ...]:
    """Parts for entries with these pcs, ``[start, end)`` each: of several for one pc the first one has it."""
    order = sorted(range(len(ranges)), key=lambda entry: ranges[entry][0])
    if all(ranges[left][1] <= ranges[right][0] for left, right in pairwise(order)):
        return tuple(Part(*ranges[entry], entry) for entry in order if ranges[entry][0] < ranges[entry][1])
    parts: list[Part] = []
    open_entries: list[int] = []  # a heap: the first of them holds
    at = following = 0
    while open_entries or following < len(order):
        if not open_entries:
            at = ranges[order[following]][0]
        while following < len(order) and ranges[order[following]][0] <= at:
            heappush(open_entries, order[following])
            following += 1
        entry = open_entries[0]
        end = ranges[entry][1]
        if end <= at:
            heappop(open_entries)
            continue
        if following < len(order):
            end = min(end, ranges[order[following]][0])
        if parts and parts[-1].entry == entry and parts[-1].end == at:
            parts[-1] = Part(parts[-1].start, end, entry)
        else:
            parts.append(Part(at, end, entry))
        at = end
    return tuple(parts)


def up_to_the_next(starts: Sequence[int | None], end: int) -> tuple[tuple[Part, int | None], ...]:
    """Parts for entries that each hold up to the next one's start, the last one up to ``end``.

    Where starts do not ascend, or one is not known (None), the entry before does not say where it ends: its part comes
    with the number of the entry that hides it. None is what all others come with.
    """
    known = [i for i, start in enumerate(starts) if start is not None]
    ordered = [start for start in starts if start is not None]
    wild = {known[i] for i in out_of_order(ordered)}
    good = [(i, start) for i, start in enumerate(starts) if start is not None and i not in wild]
    found: list[tuple[Part, int | None]] = []
    if starts and (not good or good[0][0] > 0):
        found.append((Part(0, good[0][1] if good else end, 0), 0))
    for (i, start), (following, stop) in pairwise([*good, (len(starts), end)]):
        if start < stop:
            found.append((Part(start, stop, i), i + 1 if following > i + 1 else None))
    return tuple(found)


def out_of_order(starts: Sequence[int]) -> frozenset[int]:
    """The places of a list that should ascend and does not: as few as possible, so that all others do.

    One wild value among sorted ones is that one, and not its neighbours.
    """
    if all(left <= right for left, right in pairwise(starts)):
        return frozenset()
    lowest_ends: list[int] = []  # of the ascending lists of each length so far, the lowest last value
    ends: list[int] = []  # and its place
    before: list[int] = []  # for each place, the one before it in the longest list that ends there
    for place, start in enumerate(starts):
        length = bisect_right(lowest_ends, start)
        before.append(ends[length - 1] if length else -1)
        if length == len(ends):
            lowest_ends.append(start)
            ends.append(place)
        else:
            lowest_ends[length], ends[length] = start, place
    kept: set[int] = set()
    place = ends[-1]
    while place >= 0:
        kept.add(place)
        place = before[place]
    return frozenset(range(len(starts))) - kept
