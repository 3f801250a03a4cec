"""The bytes that an analysis reads: constants, the code of a function, and what looking at a callee costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.contract.rows import Offset, RegisterPlus, Undefined
from testbed.image import Segment
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.function_bounds import functions_of
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.function_rows import row_at, table_of


def test_a_constant_is_read_whole_and_where_the_program_cannot_write() -> None:
    image = image_of("x86_64", bytes.fromhex("c3 01020304050607"))
    data = Segment(0x8000, bytes.fromhex("1122334455667788"), 8, True, True, False)
    image = replace(image, segments=(data, *image.segments))
    code = FunctionCode(image, functions_of(image).at(START))
    assert [code.read(START + at, 4) for at in (1, 4)] == [0x04030201, 0x07060504]
    assert code.read(START - 1, 4) is code.read(START + 5, 4) is None, "it would lie there in part"
    assert code.read(0x8000, 4) is None, "who knows what the program has written there"


@pytest.mark.parametrize("begin", [0, 0x400, START])
def test_a_function_is_read_wherever_it_lies_in_its_segment(begin: int) -> None:
    """Other code lies in front of it: at the beginning of a segment, and three pages on."""
    filler = b"\xcc" * (START - begin)
    code = assembled("x86_64", "push rbx; pop rbx; ret").ljust(0x3000, b"\xcc") + assembled("x86_64", "push rcx; ret")
    image = image_of("x86_64", code, ("f", 0, 3), ("g", 0x3000, 2))
    segment = Segment(begin, filler + code, len(filler + code), True, False, True)
    image = replace(image, segments=(segment,))
    found = [row_at(image, START + at).cfa for at in (0, 1, 2, 0x3000, 0x3001)]
    assert found == [RegisterPlus("rsp", n) for n in (8, 16, 8, 8, 16)]


@pytest.mark.parametrize(("body", "pops", "steps"), [("ret 16", 16, 1), ("mov rax, [rsp + 8]; ret 16", 16, 2)])
def test_looking_for_what_a_callee_pops_costs_a_step_and_one_for_each_eight_bytes(
    body: str, pops: int, steps: int
) -> None:
    image = image_of("x86_64", assembled("x86_64", body))
    code = FunctionCode(image, functions_of(image).at(START))
    spent = image.account.share("instructions").spent
    before = spent["steps"]
    assert code.pops(START) == pops
    assert spent["steps"] == before + steps
    assert code.pops(START) == pops and spent["steps"] == before + steps, "and it is done once"


# Which function a pc is in: by symbols with and without sizes, inside others, over others, and of cold parts.

BODY = {"x86_64": "push rbx; xor ebx, ebx; pop rbx; ret", "arm64": "str x19, [sp, #-16]!; mov x19, #0; ret"}


@pytest.mark.parametrize("isa", BODY)
def test_the_function_at_the_images_entry_has_no_caller(isa: str) -> None:
    code = assembled(isa, BODY[isa])
    image = image_of(isa, code, entry=START)
    assert row_at(image, START).registers[image.arch.return_address] == Undefined()
    assert row_at(image_of(isa, code), START).registers.get(image.arch.return_address) != Undefined()


def test_without_a_symbol_there_is_nothing() -> None:
    image = image_of("x86_64", b"\xc3" * 8, ("f", 0, 4))
    assert row_at(image, START).cfa == RegisterPlus("rsp", 8)
    with pytest.raises(NoUnwindInfo, match="no function symbol covers 0x1004"):
        row_at(image, START + 4)


def test_a_symbol_without_a_size_reaches_to_the_next() -> None:
    image = image_of(
        "x86_64", assembled("x86_64", "push rbx; nop; pop rbx; ret; push rcx; ret"), ("f", 0, 0), ("g", 4, 0)
    )
    assert [row_at(image, START + at).cfa for at in (2, 4, 5)] == [RegisterPlus("rsp", n) for n in (16, 8, 16)]
    assert [function.parts for function in functions_of(image).all] == [
        ((START, START + 4),),
        ((START + 4, START + 6),),
    ]


@pytest.mark.parametrize("inside", [3, 16, 40])
def test_a_function_goes_on_behind_the_symbols_inside_it(inside: int) -> None:
    """Second entries, one after the other, some in others: behind each of them it is the enclosing function again."""
    code = assembled("x86_64", "push rbx; xor ebx, ebx") + b"\x90" * 4 * inside + assembled("x86_64", "pop rbx; ret")
    entries = [(f"g{i}", 4 + 4 * i, 1 + i % 2) for i in range(inside)]
    image = image_of("x86_64", code, ("f", 0, len(code)), ("whole", 3, 4 * inside), *entries)
    functions = functions_of(image)
    assert [functions.at(START + at).name for at in (0, 2)] == ["f", "f"]
    for i in range(inside):
        assert functions.at(START + 4 + 4 * i).name == f"g{i}"
        assert functions.at(START + 6 + 4 * i).name == "whole"
    assert functions.at(START + 3 + 4 * inside).name == "f"
    assert row_at(image, START + 3 + 4 * inside).registers["rbx"] == Offset(-16)


def test_symbols_over_the_same_code_do_not_have_it_analysed_again_and_again() -> None:
    code = b"\x90" * 400 + b"\xc3"
    image = image_of("x86_64", code, *((f"f{i}", i, 0x190 - i) for i in range(40)))
    said = [row for row in table_of(image)]
    assert said
    with pytest.raises(NoUnwindInfo, match="cover the same code over and over"):
        row_at(image, START + 39)


def test_a_cold_part_has_its_functions_frame() -> None:
    """``f`` jumps to ``f.cold`` after its push; by itself the part would be taken for a function without a frame."""
    code = bytes.fromhex("53 eb01 cc 31db 5b c3")  # push rbx; jmp f.cold; int3; f.cold: xor ebx, ebx; pop rbx; ret
    image = image_of("x86_64", code, ("f", 0, 3), ("f.cold", 4, 4))
    assert row_at(image, START + 6).registers["rbx"] == Offset(-16)
    assert row_at(image, START + 6).cfa == RegisterPlus("rsp", 16)


def test_rows_of_an_image_are_sorted_and_do_not_overlap() -> None:
    table = table_of(image_of("x86_64", assembled("x86_64", BODY["x86_64"])))
    assert [(row.start - START, row.end - START) for row in table] == [(0, 1), (1, 4), (4, 5)]
    assert table.at(START + 5) is None
