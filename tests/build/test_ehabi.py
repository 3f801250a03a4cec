"""Each EHABI directive, encoded by hand from the ABI's section 9.3, and the words around the opcodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.build import build
from testbed.build import directives as d
from testbed.build.recipes import RECIPES
from testbed.build.source_place import Place
from testbed.build.tables.ehabi import HandledFunction, prel31, unwind_opcodes, write_exception_tables
from testbed.program.model import program_from_text
from testbed.words.errors import BuildError

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


def test_a_function_that_cannot_be_unwound_has_no_opcodes() -> None:
    tables = write_exception_tables([HandledFunction(HERE, 0x1000, cant_unwind=True)], 0x1010, 0x2000, 0x3000)
    assert words(tables.index)[:2] == [prel31(0x1000, 0x2000), 1]
    assert tables.table == b""


def test_a_personality_routine_is_followed_by_opcodes_and_its_data() -> None:
    one = HandledFunction(HERE, 0x1000, ((HERE, d.Save(R4 | LR)),), personality=0x1800, handler_data=(5, 6))
    tables = write_exception_tables([one], 0x1010, 0x2000, 0x3000)
    assert words(tables.table) == [prel31(0x1800, 0x3000), 0x00A8B0B0, 5, 6]


def test_handler_data_moves_a_short_entry_into_the_table() -> None:
    one = HandledFunction(HERE, 0x1000, ((HERE, d.Save(R4 | LR)),), handler_data=(5,))
    tables = write_exception_tables([one], 0x1010, 0x2000, 0x3000)
    assert words(tables.index)[1] == prel31(0x3000, 0x2004)
    assert words(tables.table) == [0x80A8B0B0, 5]


def test_a_model_that_is_asked_for_is_taken() -> None:
    one = HandledFunction(HERE, 0x1000, ((HERE, d.Save(R4)),), model=2)
    assert words(write_exception_tables([one], 0x1010, 0x2000, 0x3000).table) == [0x8200A0B0, 0]


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
