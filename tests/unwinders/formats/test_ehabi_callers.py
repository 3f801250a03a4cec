"""EHABI operations applied: the caller's registers."""

from __future__ import annotations

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.image import LoadedImage
from testbed.words.errors import UnsupportedRule
from tests.unwinders.formats.ehabi_texts import described, renamed, row
from tests.unwinders.frames import ARM32, START, snapshot, words
from unwinders.formats.ehabi_rows import exidx_row
from unwinders.rows.apply import apply

STACK = 0x8000


def caller(text: str, *stack: int, **registers: int) -> Frame:
    values = {register.name: 0x7000 for register in ARM32.registers} | {"pc": START, "sp": STACK, **registers}
    made = renamed(described(text))
    at = snapshot(ARM32, values, [(STACK, words(ARM32, *stack))], [LoadedImage(made)])
    _, found = apply(exidx_row(made, START), Frame(FrameKind.CALLER, START, values), at)
    assert found is not None
    return found


def test_applied_the_return_address_loses_its_thumb_bit() -> None:
    found = caller("84 08", 0x1234, 0x1041)
    assert (found.pc, found.registers["r7"], found.registers["sp"]) == (0x1040, 0x1234, STACK + 8)


def test_applied_a_popped_pc_wins_over_lr() -> None:
    assert caller("8c 00", 0x1010, 0x1020, lr=0x1030).pc == 0x1020
    assert caller("b0", lr=0x1030).pc == 0x1030


def test_applied_vsp_comes_from_the_register_as_it_was_popped() -> None:
    """`pop {r7}; mov sp, r7; pop {lr}`: vsp is what the stack says, not what this frame's r7 is."""
    found = caller("80 08 97 84 00", STACK + 8, 0x5, 0x1040, 0x6, r7=0x666)
    assert (found.pc, found.registers["sp"], found.registers["r7"]) == (0x1040, STACK + 12, STACK + 8)


def test_applied_a_popped_sp_is_the_callers() -> None:
    found = caller("86 00", STACK + 12, 0x1040)
    assert (found.pc, found.registers["sp"]) == (0x1040, STACK + 12)


def test_a_stack_found_through_two_loads_is_refused() -> None:
    with pytest.raises(UnsupportedRule, match="vsp is taken from r8"):
        row("80 08 97 80 10 98")


def test_a_pop_from_a_loaded_stack_that_was_left_is_refused() -> None:
    with pytest.raises(UnsupportedRule, match="r4 was popped from a stack"):
        row("80 08 97 a0 9b")
