"""Where states begin, and what following them may cost: jump tables, conditions, landings, overlapping code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.arch import ARCHES
from testbed.contract.rows import RegisterPlus
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis import control_flow, function_code
from unwinders.analysis.abstract_machine import emulate
from unwinders.analysis.abstract_state import CFA, EntryValue, StackAddress, entry_state, join
from unwinders.analysis.function_rows import row_at, table_of
from unwinders.analysis.operations import Combine, Instruction, MemoryOperand, Store


def test_an_instruction_inside_another_one_leaves_the_row_of_the_outer_one() -> None:
    """je into the number that movabs loads: a nop, and a jump to what is behind."""
    code = bytes.fromhex("7402 48b8 90eb059090909090 53 5b c3")
    table = list(table_of(image_of("x86_64", code)))
    assert [(row.start - START, row.end - START, row.cfa) for row in table] == [
        (0, 13, RegisterPlus("rsp", 8)),
        (13, 14, RegisterPlus("rsp", 16)),
        (14, 15, RegisterPlus("rsp", 8)),
    ]


@pytest.mark.parametrize("slot", [0, 8])
def test_an_array_of_variable_size_that_is_made_again_has_nothing_stored_in_it(slot: int) -> None:
    arch = ARCHES["x86_64"]
    make = Instruction(0x1000, 3, (Combine("rsp", "rsp", "rdi", -1),))
    store = Instruction(0x1003, 4, (Store("rbx", MemoryOperand("rsp", slot), 8),))
    once = emulate(arch, emulate(arch, entry_state(arch), make, lambda *_: None), store, lambda *_: None)
    assert once.slots[0x1000, slot] == (8, EntryValue("rbx"))
    again = emulate(arch, once, make, lambda *_: None)
    assert again.registers["rsp"] == StackAddress(0x1000, 0)
    assert {base for base, _ in again.slots} == {CFA}


def test_each_instruction_that_control_comes_to_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    code = assembled("x86_64", "nop; push rbx; pop rbx; ret")
    monkeypatch.setattr(control_flow, "MOST_STEPS", 4)
    assert row_at(image_of("x86_64", code), START + 3).cfa == RegisterPlus("rsp", 8)
    monkeypatch.setattr(control_flow, "MOST_STEPS", 3)
    with pytest.raises(NoUnwindInfo, match="f is too large to be followed"):
        row_at(image_of("x86_64", code), START + 3)


def test_slots_that_many_states_share_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long function with a small frame is followed; one that keeps more and more is not."""
    monkeypatch.setattr(function_code, "MOST_SLOTS", 100)
    long = assembled("x86_64", "push rbx; push r12; " + "inc rax; " * 200 + "ret")
    assert row_at(image_of("x86_64", long), START + len(long) - 1).cfa == RegisterPlus("rsp", 24)
    deep = assembled("x86_64", "push rbx; " * 30 + "ret")
    with pytest.raises(NoUnwindInfo, match="f keeps too much on its stack to be followed"):
        row_at(image_of("x86_64", deep), START + 1)


def test_a_value_that_each_way_keeps_in_another_slot_is_left_out_of_both() -> None:
    arch = ARCHES["x86_64"]
    entry = entry_state(arch)
    registers = {name: value for name, value in entry.registers.items() if name != "rbx"}
    one, other = (
        replace(entry, registers=registers, slots={**entry.slots, (CFA, at): (8, EntryValue("rbx"))})
        for at in (-16, -24)
    )
    assert control_flow.left_out(arch, one, other, join(one, other))
    assert not control_flow.left_out(arch, one, one, join(one, one))
