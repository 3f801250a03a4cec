"""`.eh_frame_hdr`: what a search finds, and that a wrong index is believed."""

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.frames import START, u, uleb
from tests.unwinders.search_tables import FRAME, HEADER, calling, cfa, frame_section, header, indexed, listed
from unwinders.formats.cfi import cfi_index
from unwinders.formats.eh_frame_hdr import search_table
from unwinders.tables.eh_frame import EH_FRAME
from unwinders.tables.eh_frame_hdr import EH_FRAME_HDR

# What a search finds


@pytest.mark.parametrize(
    ("pc", "offset"),
    [
        (0xFFF, None),
        (0x1000, 8),
        (0x101F, 8),
        (0x1020, None),  # behind the first function: its FDE is found, and does not cover it
        (0x103F, None),
        (0x1040, 8),
        (0x1041, 16),
        (0x107F, 16),
        (0x1080, 8),
        (0x108F, 8),
        (0x1090, None),
    ],
)
def test_the_search_finds_the_last_function_that_starts_before(pc: int, offset: int | None) -> None:
    assert cfa(indexed(), pc) == (None if offset is None else RegisterPlus("rsp", offset))


def test_an_empty_table_finds_nothing() -> None:
    assert search_table(indexed(header([]))).at(START) is None


def test_an_fde_that_the_index_does_not_name_does_not_exist() -> None:
    first, _, third = listed()
    made = indexed(header([first, third]))
    assert search_table(made).at(0x1048) is None
    assert cfi_index(made, ".eh_frame").all_rows().at(0x1048) is not None


def test_a_wrong_index_is_believed_and_stops() -> None:
    """The entries of two functions name each other's FDE: no linear search comes to the rescue."""
    (one, left), (two, right), third = listed()
    made = indexed(header([(one, right), (two, left), third]))
    said = EH_FRAME_HDR.unwind(calling(made, 0x1008, 0))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert [frame.pc for frame in said.frames] == [START]
    assert EH_FRAME.unwind(calling(made, 0x1008, 0)).stopped is None


def test_what_leads_to_no_row_is_not_claimed() -> None:
    """An index entry in the middle of a function cuts the rows that a search can find."""
    first, second, third = listed()
    made = indexed(header([first, (0x1010, third[1]), second, third]))
    claimed = [(row.start, row.end) for row in EH_FRAME_HDR.rows(made)]
    assert claimed == [(0x1000, 0x1010), (0x1040, 0x1041), (0x1041, 0x1080), (0x1080, 0x1090)]
    late = indexed(header([(0x1010, first[1]), (0x1050, second[1])]))
    claimed = [(row.start, row.end) for row in EH_FRAME_HDR.rows(late)]
    assert claimed == [(0x1010, 0x1020), (0x1050, 0x1080)], "the first bytes of a function lead elsewhere"
    for pc in range(0xFF0, 0x10A0):
        assert EH_FRAME_HDR.rows(made).at(pc) == search_table(made).at(pc)


@pytest.mark.parametrize("place", [FRAME - 8, 0x9000, 0])
def test_an_index_that_points_outside_eh_frame_is_malformed(place: int) -> None:
    made = indexed(header([(START, place)]))
    with pytest.raises(MalformedTable, match=r"\.eh_frame\+0x0: .eh_frame_hdr names an FDE"):
        search_table(made).at(START)


def test_an_index_that_names_a_cie_or_the_end_is_malformed() -> None:
    section, _ = frame_section()
    for place in (FRAME, FRAME + len(section) - 4):
        with pytest.raises(MalformedTable, match=rf"\+{place - FRAME:#x}: an index names an FDE"):
            search_table(indexed(header([(START, place)]))).at(START)


def test_only_the_fde_that_is_found_can_be_broken() -> None:
    """Neither the linear reader nor the search asks more of the other FDEs than which pcs they are for."""
    section, _ = frame_section((b"", b"\x3f\x00\x00", b""))
    made = indexed(section=section)
    assert cfa(made, START) == RegisterPlus("rsp", 8)
    with pytest.raises(MalformedTable, match=r"^\.eh_frame\+"):
        search_table(made).at(0x1040)
    linear = cfi_index(made, ".eh_frame").all_rows()
    assert [row.start for row in linear] == [0x1000, 0x1080]
    assert [(part.start, part.end) for part in linear.broken] == [(0x1040, 0x1080)]


# `.eh_frame_hdr`: every field of LSB 5.0 section 10.6.2.

# where the rows of the three functions are found
FOUND = [f".eh_frame+{frame_section()[1][i] - FRAME:#x}" for i in (0, 1, 1, 2)]

# a section, what is said of it
REFUSED: list[tuple[bytes, type[Exception], str]] = [
    *(
        (header(listed(), version=version), MalformedTable, rf"\.eh_frame_hdr\+0x0: version {version}")
        for version in (0, 2, 255)
    ),
    (
        header(listed(), frame=0x5000),
        MalformedTable,
        r"\+0x4: the header is for an .eh_frame at 0x5000; it is at 0x4000",
    ),
    # a header without a table
    *(
        (b"\x01" + encodings + u(4, FRAME - HEADER - 4) + u(4, 0), NoUnwindInfo, "no search table")
        for encodings in (b"\x1b\xff\x3b", b"\x1b\x03\xff", b"\x1b\xff\xff")
    ),
    # entries of no common size
    *(
        (header(listed(), encodings=encodings), MalformedTable, "cannot be searched")
        for encodings in (b"\x1b\x03\x31", b"\x1b\x03\x39")
    ),
    # an indirect entry
    (header(listed(), encodings=b"\x1b\x03\xbb"), MalformedTable, r"\+0xc: an entry has the pointer encoding 0xbb"),
    # more entries than there are bytes
    *(
        (header(listed(), count=count), MalformedTable, r"\.eh_frame_hdr\+0x24: 4 bytes are needed, 0 are left")
        for count in (4, 1000, 0xFFFF_FFFF)
    ),
]


@pytest.mark.parametrize(("content", "error", "said"), REFUSED)
def test_a_section_is_refused(content: bytes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        search_table(indexed(content))


# headers that lead to the same rows
READABLE: list[bytes] = [
    b"\x01\xff\x03\x3b" + u(4, 3) + header(listed())[12:],  # the pointer may be left out
    # the count has its own encoding
    *(
        b"\x01\x1b" + bytes([kind]) + b"\x3b" + u(4, FRAME - HEADER - 4) + count + header(listed())[12:]
        for kind, count in (
            *((0x01, uleb(3)), (0x02, u(2, 3)), (0x03, u(4, 3)), (0x04, u(8, 3)), (0x0B, u(4, 3)), (0x00, u(8, 3))),
        )
    ),
    # and the entries theirs; what lies behind them is none
    *(
        b"\x01\x1b\x03"
        + bytes([kind])
        + u(4, FRAME - HEADER - 4)
        + u(4, 3)
        + b"".join(u(size, pc - base) + u(size, fde - base) for pc, fde in listed())
        + b"\x11" * 24
        for kind, size, base in (
            *((0x3B, 4, HEADER), (0x3A, 2, HEADER), (0x3C, 8, HEADER)),
            *((0x03, 4, 0), (0x04, 8, 0), (0x00, 8, 0), (0x02, 2, 0)),
        )
    ),
]


@pytest.mark.parametrize("content", READABLE)
def test_each_field_has_its_own_encoding(content: bytes) -> None:
    assert [row.found_by for row in search_table(indexed(content)).all_rows()] == FOUND


def test_an_entry_out_of_order_hides_its_own_function_only() -> None:
    """The search is led past it; where it then finds nothing, the code may be that function's, and it says so."""
    first, second, third = listed()
    made = indexed(header([first, (0x9_0000, second[1]), third]))
    assert cfa(made, 0x1000) == RegisterPlus("rsp", 8)
    found = search_table(made).at(0x1088)  # the second reader searches as it is sorted
    assert found is not None and found.cfa == cfa(indexed(), 0x1088)
    with pytest.raises(MalformedTable, match=r"\.eh_frame_hdr\+0x14: entry 1 is for 0x90000: not sorted"):
        search_table(made).at(0x1048)
    table = EH_FRAME_HDR.rows(made)
    assert [row.start for row in table] == [0x1000, 0x1080]
    assert isinstance(table.stop_at(0x1048), MalformedTable)
