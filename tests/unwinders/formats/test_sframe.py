"""`.sframe`, field by field in the order of the specification: header, function entries, rows."""

from __future__ import annotations

import pytest

from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    AtRegister,
    CfaPlus,
    Constant,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
)
from testbed.image import LoadedImage
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, SIZE, START, X86_64, image, snapshot, u, words
from tests.unwinders.sframes import ADDRESS, ATTRIBUTES, ENTRY, FP, HEADER, SIGNED, SP, fre, made, one, read, section
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import sframe_table
from unwinders.formats.sframe_entries import read_functions, read_header
from unwinders.tables.sframe import SFRAME

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])


def error(content: bytes, match: str) -> MalformedTable:
    with pytest.raises(MalformedTable, match=match) as raised:
        read(content)
    assert raised.value.section == ".sframe"
    return raised.value


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


# Rows.


@pytest.mark.parametrize(("base", "register"), [(SP, "rsp"), (FP, "rbp")])
@pytest.mark.parametrize(("size", "offset"), [(1, 8), (1, -128), (2, 0x1234), (2, -2), (4, 0x123456), (4, -3)])
def test_the_first_word_counts_from_sp_or_fp(base: int, register: str, size: int, offset: int) -> None:
    (row,) = one(fre(0, offset, base=base, size=size))
    assert row.cfa == RegisterPlus(register, offset)


def test_where_ra_has_a_fixed_place_the_second_word_is_fps() -> None:
    (row,) = one(fre(0, 16, -16))
    assert row.registers["rip"] == AtCfa(-8)
    assert row.registers["rbp"] == AtCfa(-16)


def test_where_ra_has_none_the_second_word_is_ras_and_the_third_fps() -> None:
    bare, saved, both = one(fre(0, 0), fre(4, 32, -8), fre(8, 32, -24, -32), arch=ARM64)
    assert [row.registers.get("x30") for row in (bare, saved, both)] == [None, AtCfa(-8), AtCfa(-24)]
    assert [row.registers["x29"] for row in (bare, saved, both)] == [SameValue(), SameValue(), AtCfa(-32)]


@pytest.mark.parametrize("arch", [X86_64, ARM64], ids=str)
def test_registers_that_the_format_does_not_know_are_unknown(arch: object) -> None:
    chosen = X86_64 if arch is X86_64 else ARM64
    (row,) = one(fre(0, 16), arch=chosen)
    unknown = {name for name, rule in row.registers.items() if rule == Undefined()}
    assert unknown == set(chosen.preserved) - set(chosen.frame_pointers)


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_without_words_is_the_outermost_frame(version: int) -> None:
    (row,) = one(fre(0), version=version)
    assert (row.cfa, row.registers) == (None, {"rip": Undefined()})


def test_version_1_has_no_row_without_words() -> None:
    error(section((START, 16, [fre(0)]), version=1, flags=0), "without words")


def test_a_signed_return_address_is_marked_where_the_architecture_signs() -> None:
    plain, signed = one(fre(0, 0), fre(4, 16, -8, -16, extra=SIGNED), arch=ARM64)
    assert RA_SIGNED not in plain.registers
    assert signed.registers[RA_SIGNED] == Constant(1)
    (row,) = one(fre(0, 8, extra=SIGNED))
    assert RA_SIGNED not in row.registers


def test_more_words_than_there_are_registers_is_malformed() -> None:
    error(section((START, 16, [fre(0, 16, -16, -24)])), "1 words too many")


def test_words_of_no_size_are_malformed() -> None:
    assert error(section((START, 16, [b"\0\x63" + bytes(8)])), "words of size 3").offset == HEADER + ENTRY[2]


def test_rows_that_go_backwards_are_malformed() -> None:
    assert error(section((START, 64, [fre(8, 8), fre(4, 16)])), r"a row for \+0x4").offset == HEADER + ENTRY[2] + 3


def test_of_two_rows_for_one_pc_the_later_holds() -> None:
    found = one(fre(0, 8), fre(4, 16), fre(4, 24))
    assert [(row.start - START, row.cfa) for row in found] == [
        (0, RegisterPlus("rsp", 8)),
        (4, RegisterPlus("rsp", 24)),
    ]


def test_a_row_behind_the_end_of_its_function_covers_nothing() -> None:
    assert [row.end - START for row in one(fre(0, 8), fre(32, 16), size=16)] == [16]


def test_code_before_the_first_row_of_a_function_has_none() -> None:
    content = section((START, 16, [fre(4, 8)]))
    assert sframe_table(made(content)).at(START + 3) is None
    assert sframe_table(made(content)).at(START + 4) is not None


# Flexible functions (V3): control words, each with an offset.


def control(register: int | None, *, stored: bool) -> int:
    return (0 if register is None else register << 3 | 1) | stored << 1


@pytest.mark.parametrize(
    ("words_", "cfa", "ra", "fp"),
    [
        ((control(10, stored=False), 0), RegisterPlus("r10", 0), AtCfa(-8), SameValue()),
        ((control(6, stored=True), -8), AtRegister("rbp", -8), AtCfa(-8), SameValue()),
        ((control(7, stored=False), 8, 0, control(None, stored=True), -16),
         RegisterPlus("rsp", 8), AtCfa(-8), AtCfa(-16)),
        ((control(6, stored=True), -8, 0, control(6, stored=True), 0),
         AtRegister("rbp", -8), AtCfa(-8), AtRegister("rbp", 0)),
        ((control(7, stored=False), 8, control(None, stored=True), -24),
         RegisterPlus("rsp", 8), AtCfa(-24), SameValue()),
        ((control(7, stored=False), 8, control(2, stored=False), 4, 1 << 3, 8),
         RegisterPlus("rsp", 8), RegisterPlus("rcx", 4), CfaPlus(8)),
    ],
)  # fmt: skip
def test_flexible_rows_count_from_any_register(words_: tuple[int, ...], cfa: Rule, ra: Rule, fp: Rule) -> None:
    (row,) = one(fre(0, *words_), version=3, kind=1)
    assert (row.cfa, row.registers["rip"], row.registers["rbp"]) == (cfa, ra, fp)


@pytest.mark.parametrize("word", [control(None, stored=True), 0])
def test_a_flexible_cfa_must_count_from_a_register(word: int) -> None:
    content = section((START, 16, [fre(0, word, 8)]), version=3, kind=1)
    assert error(content, "counts from no register").offset == HEADER + ENTRY[3] + ATTRIBUTES + 2


def test_a_flexible_row_for_a_register_that_does_not_exist_is_malformed() -> None:
    error(section((START, 16, [fre(0, 31 << 3 | 1, 8)]), version=3, kind=1), "register 31")


def test_control_words_are_unsigned() -> None:
    """0x81 is register 16, read as a number without a sign; 0x91, 18, does not exist."""
    (row,) = one(fre(0, 16 << 3 | 1, 8), version=3, kind=1)
    assert row.cfa == RegisterPlus("rip", 8)


# The strategy.


def test_the_strategy_walks_to_the_row_that_is_the_outermost_frame() -> None:
    content = section(
        (START, 0x40, [fre(0, 8), fre(1, 16, -16), fre(4, 16, -16, base=FP)]), (START + 0x40, 0x40, [fre(0)])
    )
    loaded = LoadedImage(made(content), 0x10_0000)
    base = START + 0x10_0000
    values = {register.name: 0 for register in X86_64.registers} | {"rip": base + 8, "rsp": 0x8000, "rbp": 0x8010}
    stack = bytes(0x10) + words(X86_64, 0x9999, base + 0x50)
    said = SFRAME.unwind(snapshot(X86_64, values, [(0x8000, stack)], [loaded]))
    assert (said.stopped, [frame.pc - base for frame in said.frames]) == (None, [8, 0x50])
    assert said.frames[0].cfa == 0x8020
    assert dict(said.frames[1].registers) == {"rip": base + 0x50, "rsp": 0x8020, "rbp": 0x9999}
    assert said.frames[1].found_by == f".sframe+{HEADER + 2 * ENTRY[2] + 3 + 4:#x}"


def test_the_strategy_stops_where_no_row_covers_the_pc() -> None:
    loaded = LoadedImage(made(section((START, 4, [fre(0, 8)]))))
    values = {register.name: 0 for register in X86_64.registers} | {"rip": START + 4, "rsp": 0x8000}
    said = SFRAME.unwind(snapshot(X86_64, values, [(0x8000, bytes(64))], [loaded]))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert len(said.frames) == 1
