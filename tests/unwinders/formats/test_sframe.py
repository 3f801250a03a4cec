"""`.sframe`, field by field in the order of the specification: header and function entries."""

from __future__ import annotations

import pytest

from testbed.contract.rows import (
    AtCfa,
    RegisterPlus,
)
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, SIZE, START, image, u
from tests.unwinders.sframes import (
    ADDRESS,
    ENTRY,
    HEADER,
    error,
    fre,
    one,
    read,
    section,
)
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_functions, read_header, sframe_table

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])


# The header.


def test_an_image_without_the_section_has_no_unwind_info() -> None:
    with pytest.raises(NoUnwindInfo, match=r"no \.sframe"):
        sframe_table(image())


def test_the_magic_number_is_checked() -> None:
    assert error(section(magic=0x1234), "magic number is 0x1234").offset == 0


def test_a_section_of_the_other_endianness_is_named_so() -> None:
    assert error(section(magic=0xE2DE), "big-endian").offset == 0


@pytest.mark.parametrize("version", [0, 4, 255])
def test_an_unknown_version_is_unsupported(version: int) -> None:
    with pytest.raises(UnsupportedRule, match=f"version {version}"):
        read(section()[:2] + bytes([version]) + section()[3:])


@pytest.mark.parametrize(("version", "flags"), [(1, 4), (1, 8), (2, 8), (3, 0x80)])
def test_a_flag_that_the_version_does_not_have_is_malformed(version: int, flags: int) -> None:
    assert error(section(version=version, flags=flags), "flags").offset == 3


@pytest.mark.parametrize("abi", [0, 1, 2, 4])
def test_a_section_for_another_abi_is_malformed(abi: int) -> None:
    assert error(section(abi=abi), f"for ABI {abi}").offset == 4


def test_an_architecture_without_an_abi_number_has_no_table() -> None:
    with pytest.raises(MalformedTable, match="ABI"):
        read(section(), ARM32)


def test_the_fixed_places_of_fp_and_ra_hold_in_every_row() -> None:
    (row,) = one(fre(0, 16), fp=-16, ra=-8)
    assert (row.registers["rbp"], row.registers["rip"]) == (AtCfa(-16), AtCfa(-8))


def test_offsets_count_from_the_end_of_the_auxiliary_header() -> None:
    plain, longer = (read(section((START, SIZE, [fre(0, 8)]), auxiliary=b"?" * n)) for n in (0, 5))
    assert [(r.start, r.end, r.cfa) for r in plain] == [(r.start, r.end, r.cfa) for r in longer]


def test_parts_outside_the_section_are_malformed() -> None:
    good = section((START, SIZE, [fre(0, 8)]))
    for at, told in ((8, 0x14), (0x10, 0x18), (0x14, 0x14), (0x18, 0x18)):  # counts, then offsets
        for value in (0x1000, 0xFFFF_FFFF):
            assert error(good[:at] + u(4, value) + good[at + 4 :], "reach past the end").offset == told


@VERSIONS
def test_a_section_that_is_cut_off_anywhere_is_malformed(version: int) -> None:
    whole = section((START, SIZE, [fre(0, 8), fre(1, 16, -16)]), version=version, flags=0)
    for end in range(len(whole)):
        with pytest.raises(MalformedTable):
            read(whole[:end])


def test_the_header_counts_the_rows_of_all_functions() -> None:
    two = [(START, 16, [fre(0, 8)]), (START + 16, 16, [fre(0, 8)])]
    assert len(read(section(*two, total=2))) == 2
    assert error(section(*two, total=1), "functions have more").offset == HEADER + ENTRY[2]
    error(section(*two, total=100), "100 rows do not fit")


def test_an_empty_section_has_no_rows() -> None:
    assert read(section()) == ()


# Function entries.


@pytest.mark.parametrize(("version", "flags"), [(1, 0), (2, 0), (2, 4), (3, 0), (3, 4)])
def test_a_start_counts_from_its_own_place_or_from_the_section(version: int, flags: int) -> None:
    found = read(section((START, 16, [fre(0, 8)]), (START + 32, 16, [fre(0, 24)]), version=version, flags=flags))
    assert [(row.start, row.end, row.cfa) for row in found] == [
        (START, START + 16, RegisterPlus("rsp", 8)),
        (START + 32, START + 48, RegisterPlus("rsp", 24)),
    ]


def test_version_3_has_starts_beyond_two_gigabytes() -> None:
    far = START + (1 << 40)
    assert [row.start for row in read(section((far, 16, [fre(0, 8)]), version=3))] == [far]


def test_a_function_that_leaves_the_address_space_is_malformed() -> None:
    error(section((-16, 32, [fre(0, 8)])), "leaves the address space")


def test_a_table_that_calls_itself_sorted_must_be() -> None:
    backwards = [(START + 16, 16, [fre(0, 8)]), (START, 16, [fre(0, 8)])]
    assert error(section(*backwards, flags=5), "not sorted").offset == HEADER
    assert [row.start for row in read(section(*backwards, flags=4))] == [START, START + 16]


def test_where_functions_overlap_a_sorted_table_has_the_later_one_and_another_the_first() -> None:
    overlapping = [(START, 64, [fre(0, 8)]), (START + 16, 16, [fre(0, 24)])]
    in_sorted = read(section(*overlapping, flags=5))
    assert [(r.start - START, r.end - START) for r in in_sorted] == [(0, 16), (16, 32)]
    in_other = read(section(*overlapping, flags=4))
    assert [(r.start - START, r.end - START) for r in in_other] == [(0, 64)]


def test_a_row_type_that_does_not_exist_is_malformed() -> None:
    assert error(section((START, 16, [fre(0, 8)]), info=3), "rows of type 3").offset == HEADER


@VERSIONS
@pytest.mark.parametrize(("kind", "width"), [(0, 1), (1, 2), (2, 4)])
def test_the_start_of_a_row_has_one_two_or_four_bytes(version: int, kind: int, width: int) -> None:
    found = one(fre(0, 8, width=width), fre(5, 16, width=width), info=kind, version=version, flags=0)
    assert [(row.start - START, row.end - START, row.cfa) for row in found] == [
        (0, 5, RegisterPlus("rsp", 8)),
        (5, SIZE, RegisterPlus("rsp", 16)),
    ]


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_a_repeated_block_hold_in_each_of_them(version: int) -> None:
    found = one(fre(0, 16), fre(11, 24), size=40, info=0x10, block=16, version=version)
    assert [(row.start - START, row.end - START) for row in found] == [
        (0, 11), (11, 16), (16, 27), (27, 32), (32, 40),
    ]  # fmt: skip
    assert [row.cfa for row in found[:2]] == [RegisterPlus("rsp", 16), RegisterPlus("rsp", 24)]
    assert found[2].cfa == found[0].cfa


def test_a_row_that_starts_behind_its_block_is_never_in_force() -> None:
    found = one(fre(0, 16), fre(16, 24), size=32, info=0x10, block=16)
    assert {row.cfa for row in found} == {RegisterPlus("rsp", 16)}


def test_a_repeated_block_of_no_bytes_is_malformed() -> None:
    assert error(section((START, 16, [fre(0, 8)]), info=0x10, block=0), "blocks of no bytes").offset == HEADER


def test_repeated_blocks_cannot_make_rows_without_bound() -> None:
    error(section((START, 0xFFFF_FFF0, [fre(0, 8)]), info=0x10, block=1), "more than 262144 rows")


def test_version_1_masks_the_pc_with_the_start_of_a_row() -> None:
    """``offset & 0xb >= 0xb``: offsets 11 and 15 of every 16."""
    found = one(fre(0, 16), fre(0xB, 24), size=32, info=0x10, version=1, flags=0)
    where = [row.start - START + i for row in found for i in range(row.end - row.start) if row.cfa == found[1].cfa]
    assert where == [11, 15, 27, 31]


def test_version_1_masks_are_small() -> None:
    content = section((START, 32, [fre(0x1000, 24, width=4)]), info=0x12, version=1, flags=0)
    error(content, "a mask of 0x1000")


def test_the_key_that_signs_return_addresses_is_read() -> None:
    for info, key in ((0, "A"), (0x20, "B")):
        content = section((START, 16, [fre(0, 8)]), info=info, abi=2, ra=0)
        reader = Reader(".sframe", ADDRESS, content)
        ((function,), unplaced) = read_functions(reader, read_header(reader, ARM64), ARM64)
        assert (function.key, unplaced) == (key, None)


def test_a_signal_frame_is_one_in_version_3_only() -> None:
    for version, signal in ((2, False), (3, True)):
        (row,) = one(fre(0, 8), info=0x80, version=version)
        assert row.signal_frame is signal


def test_a_reserved_function_type_is_malformed() -> None:
    error(section((START, 16, [fre(0, 8)]), version=3, kind=2), "functions of type 2")


def test_rows_that_start_past_the_end_are_malformed() -> None:
    good = section((START, 16, [fre(0, 8)]))
    error(good[: HEADER + 8] + u(4, 100) + good[HEADER + 12 :], "past the end of all rows")
