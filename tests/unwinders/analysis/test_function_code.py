"""The bytes that an analysis reads: constants, the code of a function, and what looking at a callee costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.contract.rows import RegisterPlus
from testbed.image import Segment
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.function_bounds import functions_of
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.function_rows import row_at


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
