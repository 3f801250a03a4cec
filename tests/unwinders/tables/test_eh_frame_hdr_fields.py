"""`.eh_frame_hdr`: every field of LSB 5.0 section 10.6.2."""

from __future__ import annotations

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.frames import START, X86_64, image, u, uleb
from tests.unwinders.search_tables import FRAME, HEADER, cfa, frame_section, header, indexed, listed
from unwinders.formats.eh_frame_hdr import search_table
from unwinders.tables.eh_frame_hdr import EH_FRAME_HDR

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


def test_it_is_said_which_of_its_two_sections_an_image_lacks() -> None:
    with pytest.raises(NoUnwindInfo, match=r"has no \.eh_frame_hdr$"):
        search_table(image(X86_64, _eh_frame=(FRAME, frame_section()[0])))
    with pytest.raises(NoUnwindInfo, match=r"has no \.eh_frame$"):
        search_table(image(X86_64, _eh_frame_hdr=(HEADER, header(listed()))))


@pytest.mark.parametrize(("content", "error", "said"), REFUSED)
def test_a_section_is_refused(content: bytes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        search_table(indexed(content))


def test_the_pointer_may_be_left_out() -> None:
    content = b"\x01\xff\x03\x3b" + u(4, 3) + header(listed())[12:]
    assert cfa(indexed(content), START) == RegisterPlus("rsp", 8)


@pytest.mark.parametrize(
    ("encoding", "count"),
    [(0x01, uleb(3)), (0x02, u(2, 3)), (0x03, u(4, 3)), (0x04, u(8, 3)), (0x0B, u(4, 3)), (0x00, u(8, 3))],
)
def test_the_count_has_its_own_encoding(encoding: int, count: bytes) -> None:
    content = b"\x01\x1b" + bytes([encoding]) + b"\x3b" + u(4, FRAME - HEADER - 4) + count + header(listed())[12:]
    assert [part.start for part in search_table(indexed(content)).parts] == [0x1000, 0x1040, 0x1080]


@pytest.mark.parametrize(
    ("encoding", "size", "relative"),
    [
        (0x3B, 4, True),
        (0x3A, 2, True),
        (0x3C, 8, True),
        (0x03, 4, False),
        (0x04, 8, False),
        (0x00, 8, False),
        (0x02, 2, False),
    ],
)
def test_the_entries_have_their_own_encoding(encoding: int, size: int, relative: bool) -> None:
    base = HEADER if relative else 0
    pairs = b"".join(u(size, pc - base) + u(size, fde - base) for pc, fde in listed())
    content = b"\x01\x1b\x03" + bytes([encoding]) + u(4, FRAME - HEADER - 4) + u(4, 3) + pairs
    content += b"\x11" * 24  # what lies behind them is none
    assert [row.found_by for row in search_table(indexed(content)).all_rows()] == FOUND


def test_an_entry_out_of_order_hides_its_own_function_only() -> None:
    """The search is led past it; where it then finds nothing, the code may be that function's, and it says so."""
    first, second, third = listed()
    made = indexed(header([first, (0x9_0000, second[1]), third]))
    assert cfa(made, 0x1000) == RegisterPlus("rsp", 8)
    assert cfa(made, 0x1088) == cfa(indexed(), 0x1088)
    with pytest.raises(MalformedTable, match=r"\.eh_frame_hdr\+0x14: entry 1 is for 0x90000: not sorted"):
        search_table(made).at(0x1048)
    assert EH_FRAME_HDR.rows is not None
    table = EH_FRAME_HDR.rows(made)
    assert [row.start for row in table] == [0x1000, 0x1080]
    assert isinstance(table.stop_at(0x1048), MalformedTable)
