"""Table writers: EHABI, SFrame, ORC."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch
from testbed.build import build
from testbed.build import directives as d
from testbed.build.expressions import Place
from testbed.build.recipes import RECIPES
from testbed.build.tables.cfi_program import Procedure
from testbed.build.tables.ehabi import HandledFunction, prel31, unwind_opcodes, write_exception_tables
from testbed.build.tables.orc import write_orc
from testbed.build.tables.sframe import write_sframe
from testbed.program.model import program_from_text
from testbed.words.errors import BuildError
from tests.build.procedures import ARM64, X86, procedure

HERE = Place(Path("a.S"), 7, 5)
R4, R5, R7, R11, LR = 1 << 4, 1 << 5, 1 << 7, 1 << 11, 1 << 14


def function(*rules: d.EhabiRule, start: int = 0x1000) -> HandledFunction:
    return HandledFunction(HERE, start, tuple((HERE, rule) for rule in rules))


@pytest.mark.parametrize(
    ("rules", "opcodes"),
    [
        ([d.Pad(4)], "00"),
        ([d.Pad(0x100)], "3f"),
        ([d.Pad(0x104)], "00 3f"),
        ([d.Pad(0x200)], "3f 3f"),
        ([d.Pad(0x204)], "b2 00"),
        ([d.Pad(0x604)], "b2 80 02"),
        ([d.Pad(8), d.Pad(8)], "03"),  # undone in one step
        ([d.Save(R4)], "a0"),
        ([d.Save(R4 | R5 | LR)], "a9"),
        ([d.Save(0xFF0 | LR)], "af"),
        ([d.Save(R4 | R7)], "80 09"),
        ([d.Save(R11 | LR)], "84 80"),
        ([d.Save(R7 | LR)], "84 08"),
        ([d.Save(0b1001)], "b1 09"),
        ([d.Save(R4 | 0b0011)], "b1 03 a0"),
        ([d.VSave(0b111 << 8)], "c9 82"),
        ([d.VSave(0b1011)], "c9 01 c9 30"),
        ([d.VSave(0b11 << 16)], "c8 01"),
        ([d.VSave(0x1_8000)], "c9 f0 c8 00"),
        ([d.Save(R11 | LR), d.SetFp(11, 13, 0)], "9b 84 80"),
        ([d.Save(R11 | LR), d.SetFp(11, 13, 4)], "9b 40 84 80"),
        ([d.Save(R11 | LR), d.Pad(16), d.SetFp(11, 13, 8)], "9b 01 84 80"),
        ([d.Save(R7 | LR), d.SetFp(7, 13, 0), d.Pad(64)], "97 84 08"),  # the pad is undone by taking sp from r7
        ([d.SetFp(7, 13, 0x204)], "97 40 7f 7f"),
        ([d.SetFp(7, 13, 4), d.SetFp(7, 7, 4)], "97 41"),
        ([d.Pad(8), d.MovSp(7, 0), d.Pad(16)], "03 97 01"),
        ([d.Save(LR | R4), d.UnwindRaw(4, b"\xb1\x08"), d.Pad(4)], "00 b1 08 a8"),
    ],
)
def test_directives_become_the_opcodes_that_undo_them(rules: list[d.EhabiRule], opcodes: str) -> None:
    assert unwind_opcodes(function(*rules)).hex(" ") == opcodes


def words(content: bytes) -> list[int]:
    return [int.from_bytes(content[i : i + 4], "little") for i in range(0, len(content), 4)]


def test_three_opcode_bytes_fit_the_index_and_four_do_not() -> None:
    short = function(d.Save(R4 | LR))
    long = function(d.Save(R11 | LR), d.Save(R4 | R7), start=0x1010)
    tables = write_exception_tables([long, short], 0x1020, 0x2000, 0x3000)
    assert words(tables.index) == [
        prel31(0x1000, 0x2000),
        0x80A8B0B0,  # pop {r4, lr}, finish, finish
        prel31(0x1010, 0x2008),
        prel31(0x3000, 0x200C),
        prel31(0x1020, 0x2010),
        1,  # nothing behind the code can be unwound
    ]
    assert words(tables.table) == [0x81018009, 0x8480B0B0, 0]


SAVED = ((HERE, d.Save(R4 | LR)),)
IN_TABLE = prel31(0x3000, 0x2004)

# a function, the second word of its index entry, the table
ENTRIES: list[tuple[HandledFunction, int, list[int]]] = [
    (HandledFunction(HERE, 0x1000, cant_unwind=True), 1, []),
    # a personality routine is followed by opcodes and its data
    (
        HandledFunction(HERE, 0x1000, SAVED, personality=0x1800, handler_data=(5, 6)),
        IN_TABLE,
        [prel31(0x1800, 0x3000), 0x00A8B0B0, 5, 6],
    ),
    (HandledFunction(HERE, 0x1000, SAVED, handler_data=(5,)), IN_TABLE, [0x80A8B0B0, 5]),  # not in the index, so short
    (HandledFunction(HERE, 0x1000, ((HERE, d.Save(R4)),), model=2), IN_TABLE, [0x8200A0B0, 0]),  # as it is asked for
]


@pytest.mark.parametrize(("one", "entry", "table"), ENTRIES)
def test_an_entry_is_in_the_index_or_in_the_table(one: HandledFunction, entry: int, table: list[int]) -> None:
    tables = write_exception_tables([one], 0x1010, 0x2000, 0x3000)
    assert words(tables.index)[:2] == [prel31(0x1000, 0x2000), entry]
    assert words(tables.table) == table


def test_prel31_keeps_the_top_bit_clear() -> None:
    assert prel31(0x1000, 0x2000) == 0x7FFFF000
    assert prel31(0x2000, 0x1000) == 0x1000


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([d.Pad(6)], "not a multiple of 4"),
        ([d.SetFp(13, 13, 0)], "sp and pc are no frame pointers"),
        ([d.SetFp(7, 6, 0)], "from sp or from the frame pointer"),
        ([d.MovSp(15, 0)], "cannot hold a copy of sp"),
    ],
)
def test_what_has_no_opcode_is_an_error_at_its_line(rules: list[d.EhabiRule], message: str) -> None:
    with pytest.raises(BuildError, match=rf"^a\.S:7:5: .*{message}"):
        unwind_opcodes(function(*rules))


def test_too_many_opcodes_for_model_0_is_an_error() -> None:
    one = HandledFunction(HERE, 0x1000, ((HERE, d.Save(R4 | R7)), (HERE, d.Save(R7 | LR))), model=0)
    with pytest.raises(BuildError, match="do not fit compact model 0"):
        write_exception_tables([one], 0x1010, 0x2000, 0x3000)


def test_a_signal_frame_holds_every_register_and_clang_says_it_the_same_way() -> None:
    registers = ", ".join([*(f"r{i}" for i in range(13)), "sp", "lr", "pc"])
    text = (
        ".syntax unified\n.arm\n.globl _start\n_start:\n.fnstart\n.cantunwind\nnop\n.fnend\n"
        f"give_back:\n.fnstart\n.save {{{registers}}}\n.pad #0xa0\nnop\n.fnend\n"
    )
    program = program_from_text("signal_frame", ARCHES["arm32"], text)
    ours, clangs = (build(program, ARCHES["arm32"], RECIPES[name]).image for name in ("keystone", "clang-asm"))
    tables = [image.sections[name].data for image in (ours, clangs) for name in (".ARM.exidx", ".ARM.extab")]
    assert bytes.fromhex("b10f8fff") in b"".join(data[i : i + 4][::-1] for data in tables[1:2] for i in range(0, 16, 4))
    assert tables[1] == tables[3]


# `.sframe` as we write it, spelled out from the specification of version 2; and what it leaves out.


ADDRESS = 0x5000
PUSHED = ((0x1001, d.cfi("def_cfa_offset", 16)), (0x1001, d.cfi("offset", 6, -16)))


def parts(procedures: list[Procedure], arch: Arch = X86) -> tuple[bytes, bytes, bytes]:
    """Header, function entries, rows."""
    content = write_sframe(procedures, arch, ADDRESS)
    count = struct.unpack_from("<I", content, 8)[0]
    return content[:28], content[28 : 28 + 20 * count], content[28 + 20 * count :]


def test_the_header_names_version_abi_and_fixed_places() -> None:
    header = parts([procedure(*PUSHED)])[0]
    assert header.hex(" ") == ("e2 de 02 05 03 00 f8 00 01 00 00 00 02 00 00 00 07 00 00 00 00 00 00 00 14 00 00 00")
    assert parts([procedure()], ARM64)[0][4:8].hex(" ") == "02 00 00 00"


def test_an_entry_is_a_distance_a_size_and_where_its_rows_are() -> None:
    two = [procedure(start=0x2000, end=0x2010), procedure(*PUSHED)]
    first, second = struct.iter_unpack("<iIIIBBH", parts(two)[1])
    assert first == (0x1000 - (ADDRESS + 28), 0x40, 0, 2, 0, 0, 0)  # sorted
    assert second == (0x2000 - (ADDRESS + 48), 0x10, 7, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("arch", "rules", "said"),
    [
        (X86, (), "00 03 08"),
        (X86, PUSHED, "00 03 08 01 05 10 f0"),
        (X86, ((0x1004, d.cfi("def_cfa", 6, 16)), (0x1004, d.cfi("offset", 6, -16))), "00 03 08 04 04 10 f0"),
        (X86, ((0x1004, d.cfi("def_cfa_offset", 0x80)),), "00 03 08 04 23 80 00"),
        (X86, ((0x1004, d.cfi("def_cfa_offset", 0x8000)),), "00 03 08 04 43 00 80 00 00"),
        (X86, ((0x1000, d.cfi("undefined", 16)),), "00 01"),
        (X86, ((0x1004, d.cfi("offset", 3, -16)),), "00 03 08"),  # a register that it does not know changes nothing
        (X86, ((0x1004, d.cfi("escape", *b"\x2e\x10")),), "00 03 08"),
        (ARM64, (), "00 03 00"),
        (
            ARM64,
            tuple(
                (0x1004, d.cfi(*said)) for said in (("def_cfa_offset", 32), ("offset", 30, -24), ("offset", 29, -32))
            ),
            "00 03 00 04 07 20 e8 e0",
        ),
        (ARM64, ((0x1004, d.cfi("def_cfa_offset", 16)), (0x1004, d.cfi("offset", 30, -8))), "00 03 00 04 05 10 f8"),
        (ARM64, ((0x1004, d.cfi("negate_ra_state")),), "00 03 00 04 83 00"),
        (ARM64, ((0x1000, d.cfi("undefined", 30)),), "00 01"),
    ],
)
def test_rows(arch: Arch, rules: tuple[tuple[int, d.CfiDirective], ...], said: str) -> None:
    assert parts([procedure(*rules)], arch)[2].hex(" ") == said


@pytest.mark.parametrize(("size", "kind", "start"), [(0xFF, 0, 1), (0x100, 1, 2), (0x10000, 2, 4)])
def test_the_size_of_a_function_decides_how_wide_starts_are(size: int, kind: int, start: int) -> None:
    _, entry, content = parts([procedure(end=0x1000 + size)])
    assert entry[16] == kind
    assert content == bytes(start) + b"\x03\x08"


# functions that are left out whole: one row cannot be said, or they are frames of signals
LEFT_OUT: list[tuple[Arch, Procedure]] = [
    *(
        (arch, procedure((0x1008, rule)))
        for arch, rule in (
            (X86, d.cfi("def_cfa", 10, 0)),
            (X86, d.cfi("escape", *b"\x0f\x03\x76\x78\x06")),
            (X86, d.cfi("escape", *b"\x16\x06\x01\x30")),
            (X86, d.cfi("offset", 16, -16)),
            (X86, d.cfi("register", 16, 1)),
            (X86, d.cfi("val_offset", 6, -16)),
            (X86, d.cfi("undefined", 6)),
            (X86, d.cfi("def_cfa_offset", 0x7FFF_FFFF_FFFF_FFFF)),  # there is no room for it
            (ARM64, d.cfi("offset", 29, -16)),  # the frame pointer without the link register
            (ARM64, d.cfi("register", 30, 17)),
        )
    ),
    (X86, replace(procedure(), signal_frame=True)),
    (X86, replace(procedure(), return_column=3)),
]


@pytest.mark.parametrize(("arch", "left"), LEFT_OUT)
def test_a_function_that_cannot_be_said_is_left_out_whole(arch: Arch, left: Procedure) -> None:
    _, entries, _ = parts([left, procedure(start=0x2000, end=0x2010)], arch)
    assert len(entries) == 20
    assert struct.unpack_from("<i", entries)[0] == 0x2000 - (ADDRESS + 28)


# `.orc_unwind` as we write it, spelled out from Linux 6.4's orc_types.h; and what it cannot say.


NOTHING, END = (0, 0, 0), (0, 0, 0x100)
ENTRY = (8, 0, 0x205)  # sp + 8, BP unchanged, a call


def written(*procedures: Procedure) -> list[tuple[int, tuple[int, int, int]]]:
    """(pc, (SP offset, BP offset, bits)) of every entry."""
    places, entries, _ = write_orc(procedures, X86, ADDRESS)
    pcs = [ADDRESS + 4 * i + distance for i, (distance,) in enumerate(struct.iter_unpack("<i", places))]
    return list(zip(pcs, struct.iter_unpack("<hhH", entries), strict=True))


def said(*rules: tuple[int, d.CfiDirective]) -> list[tuple[int, tuple[int, int, int]]]:
    """The entries of one procedure, without the one at its end: nothing is known from there on."""
    found = written(procedure(*rules))
    assert found[-1][1] == NOTHING
    return found[:-1] if found[-1][0] == 0x1040 else found


def test_the_header_is_the_hash_of_the_kernels_file() -> None:
    assert write_orc((), X86, 0) == (b"", b"", bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24"))


@pytest.mark.parametrize(
    ("rules", "entry"),
    [
        ((d.cfi("def_cfa_offset", 16), d.cfi("offset", 6, -16)), (16, -16, 0x215)),
        ((d.cfi("def_cfa", 6, 16), d.cfi("offset", 6, -16)), (16, -16, 0x214)),
        ((d.cfi("def_cfa_offset", 0x7FFF),), (0x7FFF, 0, 0x205)),
        ((d.cfi("def_cfa", 10, 0),), (0, 0, 0x206)),
        ((d.cfi("def_cfa", 13, 0),), (0, 0, 0x207)),
        ((d.cfi("def_cfa", 5, 0),), (0, 0, 0x203)),
        ((d.cfi("def_cfa", 1, 0),), (0, 0, 0x202)),
        ((d.cfi("escape", *b"\x0f\x03\x76\x78\x06"),), (-8, 0, 0x208)),
        ((d.cfi("escape", *b"\x10\x06\x02\x76\x00"),), (8, 0, 0x245)),
        ((d.cfi("undefined", 16),), END),
        ((d.cfi("same_value", 6),), ENTRY),
        ((d.cfi("offset", 3, -16),), ENTRY),
        # What follows cannot be said.
        ((d.cfi("def_cfa_offset", 0x8000),), NOTHING),
        ((d.cfi("def_cfa", 10, 8),), NOTHING),  # the kernel would not add the offset
        ((d.cfi("def_cfa", 11, 0),), NOTHING),
        ((d.cfi("escape", *b"\x0f\x03\x77\x08\x06"),), NOTHING),
        ((d.cfi("escape", *b"\x16\x06\x01\x30"),), NOTHING),
        ((d.cfi("offset", 16, -16),), NOTHING),
        ((d.cfi("val_offset", 6, -16),), NOTHING),
        ((d.cfi("undefined", 6),), NOTHING),
        ((d.cfi("offset", 6, -0x8001),), NOTHING),
    ],
)
def test_an_entry(rules: tuple[d.CfiDirective, ...], entry: tuple[int, int, int]) -> None:
    found = said(*((0x1008, rule) for rule in rules))
    assert found == ([(0x1000, ENTRY)] if entry == ENTRY else [(0x1000, ENTRY), (0x1008, entry)])


def test_procedures_that_touch_have_no_gap_between_them() -> None:
    first, second = procedure(), procedure(start=0x1040, end=0x1050)
    assert written(second, first) == [(0x1000, ENTRY), (0x1050, NOTHING)]
    apart = procedure(start=0x1048, end=0x1050)
    assert written(first, apart) == [(0x1000, ENTRY), (0x1040, NOTHING), (0x1048, ENTRY), (0x1050, NOTHING)]


def test_a_signal_frame_says_nothing() -> None:
    assert {entry for _, entry in written(replace(procedure(), signal_frame=True))} == {NOTHING}
    assert {entry for _, entry in written(replace(procedure(), return_column=3))} == {NOTHING}
