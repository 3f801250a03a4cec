"""`.eh_frame_hdr`: what a search finds, and that a wrong index is believed."""

from __future__ import annotations

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.frames import START
from tests.unwinders.search_tables import FRAME, calling, cfa, frame_section, header, indexed, listed
from unwinders.formats.cfi import cfi_table
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
    assert cfi_table(made, ".eh_frame").at(0x1048) is not None


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
    assert EH_FRAME_HDR.rows is not None
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
    linear = cfi_table(made, ".eh_frame")
    assert [row.start for row in linear] == [0x1000, 0x1080]
    assert [(part.start, part.end) for part in linear.broken] == [(0x1040, 0x1080)]
