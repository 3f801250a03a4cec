"""`.sframe`, field by field in the order of the specification: header, function entries, rows, flexible rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from testbed.arch import Arch
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    ValOffset,
)
from testbed.conventions import platform
from testbed.words.errors import MalformedTable, UnsupportedRule
from tests.unwinders.frames import ARM32, ARM64, SIZE, START, X86_64, rsp, u
from tests.unwinders.sframes import (
    ADDRESS,
    ATTRIBUTES,
    ENTRY,
    FP,
    HEADER,
    SIGNED,
    SP,
    error,
    fre,
    one,
    read,
    section,
)
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_functions, read_header

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])

Fields = Mapping[str, Any]
Spans = Sequence[tuple[int, int, Rule | None]]


def control(register: int | None, *, stored: bool) -> int:
    """A control word of a flexible row: what the offset behind it counts from."""
    return (0 if register is None else register << 3 | 1) | stored << 1


GOOD = section((START, 16, [fre(0, 8)]))
TWO = [(START, 16, [fre(0, 8)]), (START + 16, 16, [fre(0, 8)])]
BACKWARDS = [(START + 16, 16, [fre(0, 8)]), (START, 16, [fre(0, 8)])]
FLEXIBLE: Fields = {"version": 3, "kind": 1}


def with_word(at: int, value: int) -> bytes:
    return GOOD[:at] + u(4, value) + GOOD[at + 4 :]


# content, what is wrong with it, the offset of that
MALFORMED: list[tuple[bytes, str, int | None]] = [
    # The header
    (section(magic=0x1234), "magic number is 0x1234", 0),
    (section(magic=0xE2DE), "big-endian", 0),
    *((section(version=v, flags=flags), "flags", 3) for v, flags in ((1, 4), (1, 8), (2, 8), (3, 0x80))),
    *((section(abi=abi), f"for ABI {abi}", 4) for abi in (0, 1, 2, 4)),
    # parts outside the section: two counts, two offsets
    *(
        (with_word(at, value), "reach past the end", told)
        for at, told in ((8, 0x14), (0x10, 0x18), (0x14, 0x14), (0x18, 0x18))
        for value in (0x1000, 0xFFFF_FFFF)
    ),
    (section(*TWO, total=1), "functions have more", HEADER + ENTRY[2]),
    (section(*TWO, total=100), "100 rows do not fit", None),
    # Function entries
    (section((-16, 32, [fre(0, 8)])), "leaves the address space", None),
    (section(*BACKWARDS, flags=5), "not sorted", HEADER),
    (section((START, 16, [fre(0, 8)]), info=3), "rows of type 3", HEADER),
    (section((START, 16, [fre(0, 8)]), info=0x10, block=0), "blocks of no bytes", HEADER),
    (section((START, 0xFFFF_FFF0, [fre(0, 8)]), info=0x10, block=1), "more than 262144 rows", None),
    (section((START, 2 * 131073, [fre(0, 8), fre(1, 8)]), info=0x10, block=2), "more than 262144 rows", None),
    (section((START, 32, [fre(0x1000, 24, width=4)]), info=0x12, version=1, flags=0), "a mask of 0x1000", None),
    (section((START, 16, [fre(0, 8)]), version=3, kind=2), "functions of type 2", None),
    (section((START, 16, [fre(0, 8)]), version=3, kind=0x22), "functions of type 2", None),
    (with_word(HEADER + 8, 100), "past the end of all rows", None),
    # Rows
    (section((START, 16, [fre(0)]), version=1, flags=0), "without words", None),
    (section((START, 16, [fre(0, 16, -16, -24)])), "1 words too many", None),
    (section((START, 16, [b"\0\x63" + bytes(8)])), "words of size 3", HEADER + ENTRY[2]),
    (section((START, 64, [fre(8, 8), fre(4, 16)])), r"a row for \+0x4", HEADER + ENTRY[2] + 3),
    # Flexible rows
    *(
        (section((START, 16, [fre(0, word, 8)]), **FLEXIBLE), "no register", HEADER + ENTRY[3] + ATTRIBUTES + 2)
        for word in (control(None, stored=True), 0)
    ),
    (section((START, 16, [fre(0, control(31, stored=False), 8)]), **FLEXIBLE), "register 31", None),
]

# rows of a function at START, fields of the section, its rows by (start, end, CFA) from START
ROWS: list[tuple[list[bytes], Fields, Spans]] = [
    # the first word counts from SP or FP; words have one, two or four bytes
    *(
        ([fre(0, offset, base=base, size=size)], {}, [(0, SIZE, RegisterPlus(register, offset))])
        for base, register in ((SP, "rsp"), (FP, "rbp"))
        for size, offset in ((1, 8), (1, -128), (2, 0x1234), (2, -2), (4, 0x123456), (4, -3))
    ),
    # the start of a row has one, two or four bytes
    *(
        (
            [fre(0, 8, width=width), fre(5, 16, width=width)],
            {"info": kind, "version": version, "flags": 0},
            [(0, 5, rsp(8)), (5, SIZE, rsp(16))],
        )
        for version in (1, 2, 3)
        for kind, width in ((0, 1), (1, 2), (2, 4))
    ),
    ([fre(0, 8), fre(4, 16), fre(4, 24)], {}, [(0, 4, rsp(8)), (4, SIZE, rsp(24))]),  # of two for one pc the later
    ([fre(0, 8), fre(32, 16)], {"size": 16}, [(0, 16, rsp(8))]),  # a row behind the end covers nothing
    ([fre(4, 8)], {"size": 16}, [(4, 16, rsp(8))]),  # code before the first row has none
    # rows of a repeated block hold in each of them
    *(
        (
            [fre(0, 16), fre(11, 24)],
            {"size": 40, "info": 0x10, "block": 16, "version": version},
            [(0, 11, rsp(16)), (11, 16, rsp(24)), (16, 27, rsp(16)), (27, 32, rsp(24)), (32, 40, rsp(16))],
        )
        for version in (2, 3)
    ),
    # a row that starts behind its block is never in force
    ([fre(0, 16), fre(16, 24)], {"size": 32, "info": 0x10, "block": 16}, [(0, 16, rsp(16)), (16, 32, rsp(16))]),
    # 0x81, read without a sign, is register 16 (0x91, register 18, does not exist)
    ([fre(0, control(16, stored=False), 8)], FLEXIBLE, [(0, SIZE, RegisterPlus("rip", 8))]),
]

FAR = 1 << 40
OVERLAPPING = [(START, 64, [fre(0, 8)]), (START + 16, 16, [fre(0, 24)])]

# a section, its rows by (start, end, CFA) from START
SECTIONS: list[tuple[bytes, Spans]] = [
    (section(), []),
    (section(*TWO, total=2), [(0, 16, rsp(8)), (16, 32, rsp(8))]),  # the header counts the rows of all functions
    # A second table behind the first is found by nobody. lld only joins the sections of two objects: so a C program and
    # its `_start` are one object in our recipes.
    (section(*TWO) + section((START + 64, 16, [fre(0, 8)])), [(0, 16, rsp(8)), (16, 32, rsp(8))]),
    (section((START, 16, [fre(0, 8)]), auxiliary=b"?" * 5), [(0, 16, rsp(8))]),  # offsets count from its end
    # a start counts from its own place or from the section
    *(
        (
            section((START, 16, [fre(0, 8)]), (START + 32, 16, [fre(0, 24)]), version=version, flags=flags),
            [(0, 16, rsp(8)), (32, 48, rsp(24))],
        )
        for version, flags in ((1, 0), (2, 0), (2, 4), (3, 0), (3, 4))
    ),
    (section((START + FAR, 16, [fre(0, 8)]), version=3), [(FAR, FAR + 16, rsp(8))]),  # beyond two gigabytes
    # a table that does not call itself sorted need not be; where functions overlap it has the first, a sorted one the
    # last
    (section(*BACKWARDS, flags=4), [(0, 16, rsp(8)), (16, 32, rsp(8))]),
    (section(*OVERLAPPING, flags=4), [(0, 64, rsp(8))]),
    (section(*OVERLAPPING, flags=5), [(0, 16, rsp(8)), (16, 32, rsp(24))]),
]

# words of a flexible row, its CFA, where the return address and rbp are
FLEXIBLE_ROWS: list[tuple[tuple[int, ...], Rule, Rule, Rule]] = [
    ((control(10, stored=False), 0), RegisterPlus("r10", 0), Offset(-8), SameValue()),
    ((control(6, stored=True), -8), AtRegister("rbp", -8), Offset(-8), SameValue()),
    ((control(7, stored=False), 8, 0, control(None, stored=True), -16), rsp(8), Offset(-8), Offset(-16)),
    ((control(6, stored=True), -8, 0, control(6, stored=True), 0),
     AtRegister("rbp", -8), Offset(-8), AtRegister("rbp", 0)),
    ((control(7, stored=False), 8, control(None, stored=True), -24), rsp(8), Offset(-24), SameValue()),
    ((control(7, stored=False), 8, control(2, stored=False), 4, 1 << 3, 8),
     rsp(8), RegisterPlus("rcx", 4), ValOffset(8)),
]  # fmt: skip

# rows of a function, fields of the section, architecture, rules that are told of each row (None: no rule)
REGISTERS: list[tuple[list[bytes], Fields, Arch, list[dict[str, Rule | None]]]] = [
    ([fre(0, 16)], {"fp": -16, "ra": -8}, X86_64, [{"rbp": Offset(-16), "rip": Offset(-8)}]),  # both have fixed places
    ([fre(0, 16, -16)], {}, X86_64, [{"rip": Offset(-8), "rbp": Offset(-16)}]),  # ra has: the second word is fp's
    # neither has: the second word is ra's, the third fp's
    (
        [fre(0, 0), fre(4, 32, -8), fre(8, 32, -24, -32)],
        {},
        ARM64,
        [
            {"x30": None, "x29": SameValue()},
            {"x30": Offset(-8), "x29": SameValue()},
            {"x30": Offset(-24), "x29": Offset(-32)},
        ],
    ),
    # a signed return address is marked where the architecture signs
    (
        [fre(0, 0), fre(4, 16, -8, -16, extra=SIGNED)],
        {},
        ARM64,
        [{RA_SIGNED: None}, {RA_SIGNED: Constant(1)}],
    ),
    ([fre(0, 8, extra=SIGNED)], {}, X86_64, [{RA_SIGNED: None}]),
]


@pytest.mark.parametrize(("content", "said", "offset"), MALFORMED)
def test_a_section_is_malformed(content: bytes, said: str, offset: int | None) -> None:
    found = error(content, said)
    assert offset is None or found.offset == offset


@pytest.mark.parametrize(("fres", "fields", "spans"), ROWS)
def test_rows_hold_where_their_function_says(fres: list[bytes], fields: Fields, spans: Spans) -> None:
    assert [(row.start - START, row.end - START, row.cfa) for row in one(*fres, **fields)] == spans


@pytest.mark.parametrize(("content", "spans"), SECTIONS)
def test_a_section_has_the_rows_of_its_functions(content: bytes, spans: Spans) -> None:
    assert [(row.start - START, row.end - START, row.cfa) for row in read(content)] == spans


@pytest.mark.parametrize(("words_", "cfa", "ra", "fp"), FLEXIBLE_ROWS)
def test_flexible_rows_count_from_any_register(words_: tuple[int, ...], cfa: Rule, ra: Rule, fp: Rule) -> None:
    (row,) = one(fre(0, *words_), **FLEXIBLE)
    assert (row.cfa, row.registers["rip"], row.registers["rbp"]) == (cfa, ra, fp)


@pytest.mark.parametrize(("fres", "fields", "arch", "rules"), REGISTERS)
def test_words_are_places_of_registers(
    fres: list[bytes], fields: Fields, arch: Arch, rules: list[dict[str, Rule | None]]
) -> None:
    found = one(*fres, arch=arch, **fields)
    assert [{name: row.registers.get(name) for name in told} for row, told in zip(found, rules, strict=True)] == rules


# The header.


@pytest.mark.parametrize("version", [0, 4, 255])
def test_an_unknown_version_is_unsupported(version: int) -> None:
    with pytest.raises(UnsupportedRule, match=f"version {version}"):
        read(section()[:2] + bytes([version]) + section()[3:])


def test_an_architecture_without_an_abi_number_has_no_table() -> None:
    with pytest.raises(MalformedTable, match="ABI"):
        read(section(), ARM32)


@VERSIONS
def test_a_section_that_is_cut_off_anywhere_is_malformed(version: int) -> None:
    whole = section((START, SIZE, [fre(0, 8), fre(1, 16, -16)]), version=version, flags=0)
    for end in range(len(whole)):
        with pytest.raises(MalformedTable):
            read(whole[:end])


# Function entries.


def test_version_1_masks_the_pc_with_the_start_of_a_row() -> None:
    """``offset & 0xb >= 0xb``: offsets 11 and 15 of every 16."""
    found = one(fre(0, 16), fre(0xB, 24), size=32, info=0x10, version=1, flags=0, alike=False)
    where = [row.start - START + i for row in found for i in range(row.end - row.start) if row.cfa == found[1].cfa]
    assert where == [11, 15, 27, 31]


@pytest.mark.parametrize(("info", "key"), [(0, "A"), (0x20, "B")])
def test_the_key_that_signs_return_addresses_is_read(info: int, key: str) -> None:
    content = section((START, 16, [fre(0, 8)]), info=info, abi=2, ra=0)
    reader = Reader(".sframe", ADDRESS, content)
    ((function,), unplaced) = read_functions(reader, read_header(reader, ARM64), ARM64)
    assert (function.key, unplaced) == (key, None)


def test_a_signal_frame_is_one_in_version_3_only() -> None:
    assert [one(fre(0, 8), info=0x80, version=version)[0].signal_frame for version in (2, 3)] == [False, True]


# Rows.


@pytest.mark.parametrize("arch", [X86_64, ARM64], ids=str)
def test_registers_that_the_format_does_not_know_are_unknown(arch: Arch) -> None:
    (row,) = one(fre(0, 16), arch=arch)
    unknown = {name for name, rule in row.registers.items() if rule == Undefined()}
    assert unknown == set(platform(arch).preserved) - set(arch.frame_pointers)


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_without_words_is_the_outermost_frame(version: int) -> None:
    (row,) = one(fre(0), version=version)
    assert (row.cfa, row.registers) == (None, {"rip": Undefined()})


# The unwinder.
