"""Instructions that a linker has moved out of a function because of a processor's erratum."""

from __future__ import annotations

import pytest

from testbed.contract.rows import AtCfa, RegisterPlus
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.function_rows import row_at

FUNCTION = "stp x29, x30, [sp, #-32]!; b 0x1010; ldp x29, x30, [sp], #32; ret; "


def test_behind_a_moved_instruction_the_function_goes_on() -> None:
    image = image_of("arm64", assembled("arm64", FUNCTION + "ldr x0, [x0, #8]; b 0x1008"), ("f", 0, 0x10))
    assert row_at(image, START + 8).cfa == RegisterPlus("sp", 32)
    assert row_at(image, START + 12).cfa == RegisterPlus("sp", 0)


def test_what_a_moved_instruction_does_to_the_frame_is_done() -> None:
    image = image_of("arm64", assembled("arm64", FUNCTION + "str x19, [sp, #16]; b 0x1008"), ("f", 0, 0x10))
    assert row_at(image, START + 8).registers["x19"] == AtCfa(-16)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "ldr x0, [x0, #8]; b 0x100c",  # it goes on somewhere else: a tail call of code without a symbol
        "ldr x0, [x0, #8]; cbz x0, 0x1008; ret",
        "nop; nop; nop; b 0x1008",  # too long for one
        "b 0x1008",
        "ldr x0, [x0, #8]; ret",
    ],
)
def test_other_code_without_a_symbol_is_left_by_a_tail_call(elsewhere: str) -> None:
    image = image_of("arm64", assembled("arm64", FUNCTION + elsewhere), ("f", 0, 0x10))
    with pytest.raises(NoUnwindInfo, match="no way from the function's entry leads here"):
        row_at(image, START + 8)


def test_a_function_that_does_one_thing_is_no_moved_instruction() -> None:
    image = image_of(
        "arm64", assembled("arm64", FUNCTION + "ldr x0, [x0, #8]; b 0x1008"), ("f", 0, 0x10), ("g", 0x10, 8)
    )
    with pytest.raises(NoUnwindInfo, match="no way from the function's entry leads here"):
        row_at(image, START + 8)
