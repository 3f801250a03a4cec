"""Which entry of a table each pc has: overlaps, lists that should ascend, entries read when they are asked for."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from testbed.contract.rows import UnwindRow
from testbed.words.errors import MalformedTable
from tests.unwinders.frames import sleb, u, uleb
from unwinders.formats.indexed import IndexedTable, Part, cut, first_holds, out_of_order, up_to_the_next
from unwinders.formats.reader import Reader


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


# where entries start, their parts up to 64 and which entry hides where each ends
TO_THE_NEXT: list[tuple[list[int | None], list[tuple[Part, int | None]]]] = [
    ([16, 32, 32, 48], [(Part(16, 32, 0), None), (Part(32, 48, 2), None), (Part(48, 64, 3), None)]),
    # a wild one hides where the one before it ends; also at either end
    *(
        ([16, 32, wild, 48], [(Part(16, 32, 0), None), (Part(32, 48, 1), 2), (Part(48, 64, 3), None)])
        for wild in (None, 900, 3)
    ),
    ([900, 32, 48], [(Part(0, 32, 0), 0), (Part(32, 48, 1), None), (Part(48, 64, 2), None)]),
    ([16, 32, 3], [(Part(16, 32, 0), None), (Part(32, 64, 1), 2)]),
    ([None, None], [(Part(0, 64, 0), 0)]),
    ([], []),
]


@pytest.mark.parametrize(("starts", "parts"), TO_THE_NEXT)
def test_an_entry_is_for_the_pcs_up_to_the_next(starts: list[int | None], parts: list[tuple[Part, int | None]]) -> None:
    assert up_to_the_next(starts, 64) == tuple(parts)


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


# The cursor: every number that a table can hold, and the error where the bytes do not hold it.


def reader(data: bytes, *, address: int = 0x4000) -> Reader:
    return Reader(".eh_frame", address, data)


# what is read, with which arguments, of which bytes, and what it is
READ: list[tuple[str, tuple[int, ...], bytes, int | str]] = [
    # fixed integers are little-endian, with or without a sign
    *(("unsigned", (size,), b"\xfe" + b"\xff" * (size - 1), (1 << 8 * size) - 2) for size in (1, 2, 4, 8)),
    *(("signed", (size,), b"\xfe" + b"\xff" * (size - 1), -2) for size in (1, 2, 4, 8)),
    ("string", (), b"zR\0", "zR"),
    *(("uleb", (), uleb(value), value) for value in (0, 1, 63, 64, 127, 128, 129, 16256, 2**32, 2**63, 2**64 - 1)),
    *(
        ("sleb", (), sleb(value), value)
        for value in (0, 1, -1, 63, 64, -64, -65, 127, -128, 129, -129, 2**63 - 1, -(2**63))
    ),
    # the examples of DWARF 5, figure 7.6.2 and 7.6.3
    ("uleb", (), bytes([129 - 128 + 0x80, 1]), 129),
    ("uleb", (), bytes([57 + 0x80, 100]), 12857),
    ("sleb", (), bytes([0x7E]), -2),
    ("sleb", (), bytes([127 + 0x80, 0]), 127),
    ("sleb", (), bytes([0x80, 0x7F]), -128),
    # padding is allowed up to ten bytes
    ("uleb", (), b"\x81" + b"\x80" * 8 + b"\x00", 1),
    ("sleb", (), b"\xff" * 9 + b"\x7f", -1),
]

# what is read, with which arguments, of which bytes, and what is wrong
MALFORMED: list[tuple[str, tuple[int, ...], bytes, str]] = [
    ("unsigned", (4,), b"\3", "4 bytes are needed, 1 are left"),
    ("string", (), b"zR", "no end"),
    ("string", (), b"\xe4\0", "ASCII"),
    # pointers that a file cannot resolve
    *(("pointer", (how, 8), u(8, 1), "pointer encoding") for how in (0x05, 0x08, 0x0F, 0x23, 0x33, 0x43, 0x53)),
    ("uleb", (), b"\x80" * 10 + b"\x00", "more than 10 bytes"),
    ("sleb", (), b"\x80" * 10 + b"\x00", "more than 10 bytes"),
    ("uleb", (), b"\xff" * 9 + b"\x03", "does not fit"),
    ("sleb", (), b"\xff" * 9 + b"\x01", "does not fit"),
]


@pytest.mark.whole
@pytest.mark.parametrize(("kind", "arguments", "data", "value"), READ)
def test_what_bytes_hold_is_read_to_their_end(
    kind: str, arguments: tuple[int, ...], data: bytes, value: int | str
) -> None:
    cursor = reader(data)
    assert (getattr(cursor, kind)(*arguments), cursor.left) == (value, 0)


@pytest.mark.parametrize(("kind", "arguments", "data", "said"), MALFORMED)
def test_what_bytes_do_not_hold_is_malformed(kind: str, arguments: tuple[int, ...], data: bytes, said: str) -> None:
    with pytest.raises(MalformedTable, match=said) as raised:
        getattr(reader(data), kind)(*arguments)
    assert (raised.value.section, raised.value.offset) == (".eh_frame", 0)


def test_a_part_ends_where_it_was_told_to() -> None:
    part = reader(b"\1\2\3\4").part(1, 3)
    assert part.take(2) == b"\2\3"
    with pytest.raises(MalformedTable, match=r"\.eh_frame\+0x3: 1 bytes are needed, 0 are left"):
        part.take(1)
    with pytest.raises(MalformedTable, match="not inside"):
        reader(b"\1\2").part(1, 3)


@pytest.mark.parametrize(
    ("encoding", "data", "expected"),
    [
        (0x00, u(8, 0x12345678_9ABCDEF0), 0x12345678_9ABCDEF0),
        (0x01, uleb(300), 300),
        (0x02, u(2, 0xFFFE), 0xFFFE),
        (0x03, u(4, 0xFFFF_FFFE), 0xFFFF_FFFE),
        (0x04, u(8, 5), 5),
        (0x09, sleb(-2), 2**64 - 2),
        (0x0A, u(2, -2), 2**64 - 2),
        (0x0B, u(4, -2), 2**64 - 2),
        (0x0C, u(8, -2), 2**64 - 2),
        (0x1B, u(4, -0x10), 0x4001 - 0x10),
        (0x3B, u(4, 0x10), 0x9010),
        (0x1B, u(4, 0), 0),
        (0xFF, b"", None),
    ],
    ids=lambda value: f"{value:#x}" if isinstance(value, int) else None,
)
def test_pointer_encodings(encoding: int, data: bytes, expected: int | None) -> None:
    """pcrel counts from the pointer itself (here at 0x4001); a stored zero is null whatever it is relative to."""
    cursor = reader(b"\xcc" + data)
    cursor.take(1)
    assert cursor.pointer(encoding, 8, data_base=0x9000) == expected
    assert cursor.left == 0


def test_a_pointer_wraps_at_the_word() -> None:
    assert reader(u(4, -8), address=4).pointer(0x1B, 4) == 0xFFFF_FFFC
