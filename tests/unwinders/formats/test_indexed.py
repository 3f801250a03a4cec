"""Which entry of a table each pc has: overlaps, lists that should ascend, entries read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from testbed.contract.rows import UnwindRow
from testbed.words.errors import MalformedTable
from unwinders.formats.indexed import IndexedTable, Part, cut, first_holds, out_of_order, up_to_the_next


def row(start: int, end: int) -> UnwindRow:
    return UnwindRow(start, end, None, {}, "rip")


@pytest.mark.parametrize("seed", range(300))
def test_of_overlapping_entries_the_first_one_has_the_pc(seed: int) -> None:
    random = Random(seed)
    starts = [random.randrange(40) for _ in range(random.randrange(12))]
    ranges = [(start, start + random.randrange(12)) for start in starts]
    parts = first_holds(ranges)
    for pc in range(60):
        first = next((i for i, (start, end) in enumerate(ranges) if start <= pc < end), None)
        assert [part.entry for part in parts if part.start <= pc < part.end] == ([] if first is None else [first])
    assert all(left.end <= right.start for left, right in pairwise(parts))
    assert all(left.entry != right.entry or left.end < right.start for left, right in pairwise(parts))


def test_very_many_entries_that_overlap_are_quick() -> None:
    """A sorted list with insertions would take minutes."""
    parts = first_holds([(i, 1_000_000) for i in range(200_000, 0, -1)])
    assert len(parts) == 200_000


@pytest.mark.parametrize(
    ("starts", "wild"),
    [
        ([], ()),
        ([1, 2, 2, 3], ()),
        ([1, 900, 2, 3], (1,)),
        ([1, 5, 6, 2, 7], (3,)),
        ([9, 1, 2], (0,)),
        ([1, 2, 0], (2,)),
    ],
)
def test_one_wild_value_among_sorted_ones_is_found(starts: list[int], wild: tuple[int, ...]) -> None:
    assert out_of_order(starts) == set(wild)


@pytest.mark.parametrize("seed", range(200))
def test_as_few_values_as_possible_are_out_of_order(seed: int) -> None:
    random = Random(seed)
    starts = [random.randrange(20) for _ in range(random.randrange(9))]
    wild = out_of_order(starts)
    kept = [start for i, start in enumerate(starts) if i not in wild]
    assert kept == sorted(kept)
    longest = 0
    for chosen in range(1 << len(starts)):
        some = [start for i, start in enumerate(starts) if chosen >> i & 1]
        longest = max(longest, len(some) if some == sorted(some) else 0)
    assert len(kept) == longest


def test_a_list_without_mistakes_has_a_part_per_entry() -> None:
    assert up_to_the_next([16, 32, 32, 48], 64) == (
        (Part(16, 32, 0), None),
        (Part(32, 48, 2), None),
        (Part(48, 64, 3), None),
    )


@pytest.mark.parametrize("wild", [None, 900, 3])
def test_a_wild_entry_hides_where_the_one_before_it_ends(wild: int | None) -> None:
    assert up_to_the_next([16, 32, wild, 48], 64) == (
        (Part(16, 32, 0), None),
        (Part(32, 48, 1), 2),
        (Part(48, 64, 3), None),
    )


def test_a_wild_entry_at_either_end() -> None:
    assert up_to_the_next([900, 32, 48], 64) == ((Part(0, 32, 0), 0), (Part(32, 48, 1), None), (Part(48, 64, 2), None))
    assert up_to_the_next([16, 32, 3], 64) == ((Part(16, 32, 0), None), (Part(32, 64, 1), 2))
    assert up_to_the_next([None, None], 64) == ((Part(0, 64, 0), 0),)
    assert up_to_the_next([], 64) == ()


def test_rows_are_cut_to_a_part_and_those_inside_stay_the_same() -> None:
    rows = [row(0, 4), row(4, 8), row(10, 12), row(12, 20)]
    assert [(r.start, r.end) for r in cut(rows, 2, 15)] == [(2, 4), (4, 8), (10, 12), (12, 15)]
    assert cut(rows, 0, 20) == tuple(rows)
    assert cut(rows, 4, 12)[0] is rows[1]
    assert cut(rows, 8, 10) == ()


def indexed(unplaced: MalformedTable | None = None) -> tuple[IndexedTable, list[int]]:
    """Entries 0 to 2 of 16 bytes each; 1 cannot be read. And which were read, in order."""
    asked: list[int] = []

    def read(part: Part) -> Sequence[UnwindRow]:
        asked.append(part.entry)
        if part.entry == 1:
            raise MalformedTable(".table", 16, "no such thing")
        return [row(part.start, part.start + 8)]

    return IndexedTable(".table", tuple(Part(16 * i, 16 * i + 16, i) for i in range(3)), read, unplaced), asked


def test_only_the_entry_that_is_asked_for_is_read_and_once() -> None:
    table, asked = indexed()
    first = table.at(35)
    assert first is not None and first is table.at(36)
    assert table.at(45) is None
    assert table.at(100) is None
    assert asked == [2]


def test_an_entry_that_cannot_be_read_stops_at_its_pcs_only_each_time_with_an_error_of_its_own() -> None:
    table, asked = indexed()
    stops = []
    for pc in (16, 31, 16):
        with pytest.raises(MalformedTable, match=r"\.table\+0x10: no such thing") as raised:
            table.at(pc)
        raised.value.pc = pc
        stops.append(raised.value)
    assert [stop.pc for stop in stops] == [16, 31, 16], "an error that is raised is not the one that is kept"
    assert (stops[0].section, stops[0].offset, stops[0].detail) == (".table", 16, "no such thing")
    assert table.at(0) is not None
    assert asked == [1, 0]
    whole = table.all_rows()
    assert [r.start for r in whole] == [0, 32]
    assert [(part.start, part.end) for part in whole.broken] == [(16, 32)]
    assert [type(whole.stop_at(pc)) for pc in (0, 8, 16, 40, 50)] == [
        type(None),
        type(None),
        MalformedTable,
        type(None),
        type(None),
    ]


def test_entries_without_a_place_may_be_for_whatever_has_no_row() -> None:
    table, _ = indexed(MalformedTable(".table", 48, "no pcs"))
    assert table.at(0) is not None
    for pc in (8, 100):
        with pytest.raises(MalformedTable, match="no pcs"):
            table.at(pc)
        assert str(table.all_rows().stop_at(pc)) == ".table+0x30: no pcs"
    with pytest.raises(MalformedTable, match="no such thing"):
        table.at(16)


def test_rows_without_bound_end() -> None:
    asked: list[int] = []

    def read(part: Part) -> Sequence[UnwindRow]:
        asked.append(part.entry)
        return [row(pc, pc + 1) for pc in range(part.start, part.end)]

    parts = tuple(Part(100 * i, 100 * i + 100, i) for i in range(50))
    whole = IndexedTable(".table", parts, read, most_rows=250).all_rows()
    assert (len(whole), asked) == (300, [0, 1, 2])
    assert "more than 250 rows" in str(whole.stop_at(1000))
