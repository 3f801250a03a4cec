"""Where states begin, and what following them may cost: jump tables, conditions, landings, overlapping code."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES
from testbed.contract.rows import AtCfa, RegisterPlus
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis import control_flow, function_code
from unwinders.analysis.abstract_machine import emulate
from unwinders.analysis.abstract_state import CFA, EntryValue, StackAddress, entry_state
from unwinders.analysis.function_rows import row_at, table_of
from unwinders.analysis.operations import Combine, Instruction, MemoryOperand, Store


def test_a_jump_with_a_frame_goes_where_no_way_leads_sooner_than_one_without() -> None:
    """The one without may leave the function."""
    head = "test rdi, rdi; jne 0x100b; push rbx; add rax, rcx; jmp rax; add rcx, rdx; jmp rcx; "
    image = image_of("x86_64", assembled("x86_64", head + "xor ebx, ebx; pop rbx; ret"))
    cases = START + len(assembled("x86_64", head.rstrip("; ")))
    assert row_at(image, cases).cfa == RegisterPlus("rsp", 16)
    assert row_at(image, cases + 2).registers["rbx"] == AtCfa(-16)


def test_where_no_jump_has_a_frame_one_without_goes_where_no_way_leads() -> None:
    image = image_of("x86_64", assembled("x86_64", "add rax, rcx; jmp rax; push rbx; pop rbx; ret"))
    assert [row_at(image, START + at).cfa for at in (5, 6, 7)] == [RegisterPlus("rsp", n) for n in (8, 16, 8)]


def test_what_is_reached_under_the_last_of_all_conditions_is_reached() -> None:
    """A32: who is not greater goes on, deeper than behind the call, which would be where code begins otherwise."""
    text = (
        "push {r4, lr}; bl 0x9000; sub sp, sp, #8; cmp r0, #0; addgt sp, sp, #8; popgt {r4, pc}; "
        "mov r4, #1; add sp, sp, #8; pop {r4, pc}"
    )
    image = image_of("a32", assembled("a32", text))
    assert [row_at(image, START + 4 * i).cfa for i in (6, 7, 8)] == [RegisterPlus("sp", n) for n in (16, 16, 8)]


def test_a_register_that_points_into_the_frame_without_its_saved_self_there_is_no_frame_pointer() -> None:
    """Where exceptions land SP counts then; on x86_64 a function without a frame pointer uses rbp as it likes."""
    head = "push rbp; sub rsp, 0x20; lea rbp, [rsp + 8]; call 0x9000; add rsp, 0x20; pop rbp; ret; "
    image = image_of("x86_64", assembled("x86_64", head + "mov rdi, rax; call 0x9100"))
    landing = START + len(assembled("x86_64", head.rstrip("; ")))
    assert row_at(image, landing).cfa == RegisterPlus("rsp", 0x30)


def test_an_instruction_inside_another_one_leaves_the_row_of_the_outer_one() -> None:
    """je into the number that movabs loads: a nop, and a jump to what is behind."""
    code = bytes.fromhex("7402 48b8 90eb059090909090 53 5b c3")
    table = list(table_of(image_of("x86_64", code)))
    assert [(row.start - START, row.end - START, row.cfa) for row in table] == [
        (0, 13, RegisterPlus("rsp", 8)),
        (13, 14, RegisterPlus("rsp", 16)),
        (14, 15, RegisterPlus("rsp", 8)),
    ]


def test_a_comparison_tells_where_a_stack_is_that_was_aligned() -> None:
    """SP is an address of its own behind the alignment, and what is stored there with it, until it equals r11."""
    text = "lea r11, [rsp - 0x28]; and rsp, -32; push r12; xor r12d, r12d; cmp rsp, r11; jne 0x1014; nop; int3"
    code = assembled("x86_64", text)
    row = row_at(image_of("x86_64", code), START + len(code) - 2)
    assert (row.cfa, row.registers["r12"]) == (RegisterPlus("rsp", 0x30), AtCfa(-0x30))


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
