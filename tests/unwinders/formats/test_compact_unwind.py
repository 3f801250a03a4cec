"""`__unwind_info`: header, both kinds of page, then every encoding in the order of the header file."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.image import Image
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.compact import (
    BASE,
    CODE,
    FRAME,
    FRAME_ADDRESS,
    SECTION,
    compressed,
    image_of,
    image_with,
    regular,
    section,
)
from tests.unwinders.compact_parts import FDE, FRAMED, LEAF, SAVING, at_cfa, call_frame, found
from tests.unwinders.frames import ARM64, START, block, entry, image, u
from unwinders.formats.compact_unwind import compact_table


def spans(made: Image) -> list[tuple[int, int, str]]:
    """(start, end, register that the CFA counts from) of every row, as offsets from the image's base."""
    rows = compact_table(made).all_rows()
    return [(row.start - BASE, row.end - BASE, row.cfa.register) for row in rows if isinstance(row.cfa, RegisterPlus)]


# The section

FUNCTIONS = [(0x1000, LEAF), (0x1020, FRAMED), (0x1040, SAVING)]
EXPECTED = [(0x1000, 0x1020, "sp"), (0x1020, 0x1040, "x29"), (0x1040, 0x1060, "x29")]


@pytest.mark.parametrize(
    ("page", "common"),
    [
        pytest.param(regular(FUNCTIONS), (), id="regular"),
        pytest.param(compressed(0x1000, FUNCTIONS), (), id="compressed, own encodings"),
        pytest.param(compressed(0x1000, FUNCTIONS, (LEAF, FRAMED, SAVING)), (LEAF, FRAMED, SAVING), id="common"),
        pytest.param(compressed(0x1000, FUNCTIONS, (SAVING, LEAF)), (SAVING, LEAF), id="common, then own"),
    ],
)
@pytest.mark.parametrize("personalities", [0, 3])
def test_a_page_gives_each_function_up_to_the_next(page: bytes, common: tuple[int, ...], personalities: int) -> None:
    made = image_with(ARM64, section([(0x1000, page)], 0x1060, common=common, personalities=personalities))
    assert spans(made) == EXPECTED
    for start, end, register in EXPECTED:
        for at in (start, end - 1):
            row = found(made, at)
            assert row is not None and isinstance(row.cfa, RegisterPlus)
            assert (row.cfa.register, row.found_by.startswith(f"{SECTION}+0x")) == (register, True)
    assert found(made, 0xFFF) is None and found(made, 0x1060) is None


# pages by the first function's offset, where the last function ends; the rows; offsets at which nothing is known
PAGES: list[tuple[list[tuple[int, bytes]], int, list[tuple[int, int, str]], Sequence[int]]] = [
    # A search crosses the first level; an index entry without a page: nothing is known.
    (
        [(0x1000, regular(FUNCTIONS[:2])), (0x1040, compressed(0x1040, FUNCTIONS[2:])), (0x1060, b"")],
        0x1080,
        EXPECTED,
        [0x1060],
    ),
    # An entry ends where its page does: 0x1040 to 0x1050 has no entry, and is not the first page's.
    (
        [(0x1000, regular(FUNCTIONS[:2])), (0x1040, regular([(0x1050, SAVING)]))],
        0x1060,
        [*EXPECTED[:2], (0x1050, 0x1060, "x29")],
        [0x1048],
    ),
    # Entries behind the end of their page are never found.
    (
        [(0x1000, regular([(0x1000, LEAF), (0x1050, FRAMED)])), (0x1040, regular(FUNCTIONS[2:]))],
        0x1060,
        [(0x1000, 0x1040, "sp"), (0x1040, 0x1060, "x29")],
        [],
    ),
    # A page without entries says nothing, nor does an encoding of zero.
    *(([(0x1000, page)], 0x1060, [], [0x1000]) for page in (regular([]), compressed(0x1000, []))),
    ([(0x1000, regular([(0x1000, 0), (0x1020, FRAMED)]))], 0x1040, [(0x1020, 0x1040, "x29")], [0x1000]),
]


@pytest.mark.parametrize(("pages", "end", "rows", "unknown"), PAGES)
def test_pages_have_rows(
    pages: list[tuple[int, bytes]], end: int, rows: list[tuple[int, int, str]], unknown: Sequence[int]
) -> None:
    made = image_with(ARM64, section(pages, end))
    assert spans(made) == rows
    assert all(found(made, offset) is None for offset in unknown)
    assert all(found(made, start) is not None and found(made, end - 1) is not None for start, end, _ in rows)


def test_flags_for_exceptions_do_not_change_the_row() -> None:
    """IS_NOT_FUNCTION_START, HAS_LSDA, and two bits that number the personality."""
    plain = found(image_of(ARM64, SAVING), START)
    flagged = found(image_of(ARM64, SAVING | 0xF000_0000), START)
    assert plain == flagged is not None


def test_a_broken_page_does_not_hide_the_others() -> None:
    pages = [(0x1000, regular(FUNCTIONS[:2])), (0x1040, struct.pack("<II", 7, 0))]
    made = image_with(ARM64, section(pages, 0x1060))
    assert found(made, 0x1000) is not None
    with pytest.raises(MalformedTable, match="a page of kind 7 is neither regular"):
        found(made, 0x1040)


GOOD = section([(0x1000, compressed(0x1000, FUNCTIONS))], 0x1060)


def patched(at: int, value: int, size: int = 4, table: bytes = GOOD) -> bytes:
    return table[:at] + value.to_bytes(size, "little") + table[at + size :]


@pytest.mark.parametrize(
    ("table", "offset", "said"),
    [
        (b"", 0, "4 bytes are needed, 0 are left"),
        (GOOD[:27], 24, "4 bytes are needed, 3 are left"),
        (section([(0x1000, regular(FUNCTIONS))], 0x1060, version=2), 0, "version 2 is not 1"),
        (patched(4, 0x1000), 0x1000, "the range 0x1000 to 0x1000 is not inside"),
        (patched(8, 0xFFFF_FFFF), 28, "is not inside the section"),
        (patched(20, 0xFFFF_FFFF), 0xFFFF_FFFF, "is not inside the section"),
        (patched(24, 0x1000_0000), 28, "is not inside the section"),
        (patched(28, 0x2000), 28, "index entry 0 is for 0x402000: not sorted"),
        (patched(32, 0x9999), 0x9999, "is not inside the section"),
        (patched(52, 4), 52, "a page of kind 4 is neither regular (2) nor compressed (3)"),
        (patched(56, 0x8000, 2), 0x8034, "is not inside the section"),
        (patched(58, 0xFFFF, 2), 64, "is not inside the section"),
        (patched(62, 0xFFFF, 2), 76, "is not inside the section"),
        (patched(64, 0x0300_0000), 64, "encoding 3 of 3"),
        (patched(64, 0x21), 64, "entry 0 is for 0x401021: not sorted"),
        (patched(76, 0x0F00_0000), 64, "encoding 0x0f000000: mode 15 is none of 2, 3, 4"),
        (GOOD[:54], 52, "4 bytes are needed, 2 are left"),
    ],
)
def test_wrong_bytes_are_a_malformed_table_at_their_offset(table: bytes, offset: int, said: str) -> None:
    with pytest.raises(MalformedTable) as caught:
        found(image_with(ARM64, table), START)
    assert (caught.value.section, caught.value.offset) == (SECTION, offset)
    assert said in caught.value.detail


def test_pages_that_share_bytes_end() -> None:
    """Every index entry names one page of many entries: read again for each of them, it would take for ever."""
    table = section([(0, regular([(i, LEAF) for i in range(200)]))], 0x1_0000)
    index = b"".join(struct.pack("<III", i, 52, 0) for i in range(401))
    shared = patched(20, len(table), table=patched(24, 401, table=table)) + index
    assert len(spans(image_with(ARM64, table))) == 200
    assert found(image_with(ARM64, shared), 0x80) is not None, "a search looks at one page only"
    with pytest.raises(MalformedTable, match="more entries than there are bytes for"):
        compact_table(image_with(ARM64, shared)).all_rows()


def test_an_image_without_the_section_has_no_unwind_info() -> None:
    with pytest.raises(NoUnwindInfo, match="has no __TEXT,__unwind_info"):
        compact_table(image(ARM64))


# arm64 encodings


@pytest.mark.parametrize("offset", [FDE, 0])
def test_dwarf_mode_gives_the_rows_of_the_fde_that_it_names(offset: int) -> None:
    """An offset of 0, where no FDE can stand, asks for a search of the section."""
    made = image_of(ARM64, 0x0300_0000 | offset, frame=call_frame(CODE))
    first, second = found(made, START), found(made, START + 4)
    assert first is not None and second is not None
    assert (first.cfa, first.end) == (RegisterPlus("sp", 0), CODE + 4)
    assert (second.cfa, second.registers) == (RegisterPlus("sp", 0x20), at_cfa(x30=-16))
    assert second.found_by == f"{FRAME}+{FDE:#x}"


def test_dwarf_rows_are_cut_to_the_entry_and_say_nothing_outside_the_fde() -> None:
    made = image_of(ARM64, 0x0300_0000 | FDE, frame=call_frame(CODE - 0x10, 0x18))
    assert [(row.start, row.end) for row in compact_table(made).all_rows()] == [(CODE, CODE + 8)]
    assert found(made, START + 8) is None


@pytest.mark.parametrize(
    ("offset", "frame", "where", "said"),
    [
        (FDE, b"", SECTION, f"an entry defers to {FRAME}, which is not there"),
        (4, call_frame(CODE), FRAME, "an index names an FDE at 0x4; there is none"),
        (0xFF_FFFF, call_frame(CODE), FRAME, "is not inside the section"),
    ],
)
def test_wrong_dwarf_offsets_are_malformed(offset: int, frame: bytes, where: str, said: str) -> None:
    with pytest.raises(MalformedTable) as caught:
        found(image_of(ARM64, 0x0300_0000 | offset, frame=frame), START)
    assert (caught.value.section, said in caught.value.detail) == (where, True), caught.value


def test_a_search_takes_the_fde_that_covers_the_function() -> None:
    other = call_frame(CODE - 0x100, 0x40)
    body = u(4, len(other) + 4) + u(8, CODE - (FRAME_ADDRESS + len(other) + 8)) + u(8, 0x40) + block(b"") + b"\x0e\x60"
    row = found(image_of(ARM64, 0x0300_0000, frame=other + entry(body)), START)
    assert row is not None and row.cfa == RegisterPlus("sp", 0x60)


def test_a_search_that_finds_no_fde_knows_nothing() -> None:
    assert found(image_of(ARM64, 0x0300_0000, frame=call_frame(CODE + 0x10)), START) is None


# x86_64 encodings
