"""`.sframe`: rows, flexible rows, and the strategy that walks them."""

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
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.frames import ARM64, START, X86_64, snapshot, words
from tests.unwinders.sframes import (
    ATTRIBUTES,
    ENTRY,
    FP,
    HEADER,
    SIGNED,
    SP,
    error,
    fre,
    made,
    one,
    section,
)
from unwinders.formats.sframe import sframe_table
from unwinders.tables.sframe import SFRAME

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
