"""Control flow: what is known where ways part and meet."""

from __future__ import annotations

import pytest

from testbed.contract.rows import AtCfa, RegisterPlus, Rule, Undefined
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of, row_in
from unwinders.analysis.function_rows import row_at


def cfa_before(isa: str, text: str, statement: int) -> Rule | None:
    """The CFA before the given statement of a function."""
    parts = [part.strip() for part in text.split(";")]
    return row_in(isa, assembled(isa, text), len(assembled(isa, "; ".join(parts[:statement])))).cfa


def test_an_early_return_does_not_reach_the_code_behind_it() -> None:
    code = assembled("x86_64", "push rbx; test rdi, rdi; jne 0x1008; pop rbx; ret; pop rbx; ret")
    assert row_in("x86_64", code, 7).cfa == RegisterPlus("rsp", 8)
    assert row_in("x86_64", code, 8).cfa == RegisterPlus("rsp", 16)


def test_where_two_frames_meet_there_is_no_row_without_a_frame_pointer() -> None:
    code = assembled("x86_64", "test rdi, rdi; je 0x1006; push rax; nop; ret")
    assert row_in("x86_64", code, 5).cfa == RegisterPlus("rsp", 8)
    with pytest.raises(NoUnwindInfo, match="leads to the CFA"):
        row_in("x86_64", code, 6)


def test_where_two_frames_meet_the_frame_pointer_still_leads_to_the_cfa() -> None:
    code = assembled("x86_64", "push rbp; mov rbp, rsp; test rdi, rdi; je 0x100a; push rax; nop; leave; ret")
    assert row_in("x86_64", code, 10).cfa == RegisterPlus("rbp", 16)
    assert row_in("x86_64", code, 12).cfa == RegisterPlus("rsp", 8)


def test_a_register_clobbered_on_one_way_is_where_it_was_saved() -> None:
    code = assembled("x86_64", "push rbx; test rdi, rdi; je 0x1008; xor ebx, ebx; nop; pop rbx; ret")
    assert row_in("x86_64", code, 8).registers["rbx"] == AtCfa(-16)
    code = assembled("x86_64", "test rdi, rdi; je 0x1007; xor ebx, ebx; nop; ret")
    assert row_in("x86_64", code, 7).registers["rbx"] == Undefined()


def test_a_call_whose_way_on_contradicts_another_way_does_not_return() -> None:
    """``abort`` in the middle: the label behind the call is reached by the jump only, with no frame."""
    code = assembled("x86_64", "test rdi, rdi; jne 0x100b; push rax; call 0x9000; ret")
    assert row_in("x86_64", code, 11).cfa == RegisterPlus("rsp", 8)
    assert row_in("x86_64", code, 6).cfa == RegisterPlus("rsp", 16)


def test_a_call_behind_which_a_register_would_be_lost_does_not_return() -> None:
    """Behind the call one way has rbx in its slot only, the other has it unchanged and stored nothing."""
    text = (
        "sub rsp, 24; test rdi, rdi; jne 0x1015; mov [rsp + 8], rbx; xor ebx, ebx; call 0x9000; nop; add rsp, 24; ret"
    )
    code = assembled("x86_64", text)
    assert row_in("x86_64", code, 0x15).registers.get("rbx") is None
    assert row_in("x86_64", code, 0x10).registers["rbx"] == AtCfa(-24)


def test_a_jump_table_has_as_many_cases_as_its_index_was_compared_with() -> None:
    """Behind the table lies code that no case begins with: read as one more case, it leads into the middle of one."""
    head = assembled("thumb", "push {r4, lr}; cmp r0, #1; bhi 0x100e; tbh [pc, r0, lsl #1]")
    table = (6).to_bytes(2, "little") * 2  # halved distances from the table
    between = assembled("thumb", "pop {r4, pc}") + (7).to_bytes(2, "little") * 3
    code = head + table + between + assembled("thumb", "sub sp, #8; add sp, #8; pop {r4, pc}")
    assert row_in("thumb", code, 0x18).cfa == RegisterPlus("sp", 16)
    assert row_in("thumb", code, 0x0E).cfa == RegisterPlus("sp", 8)


def test_constants_between_the_code_are_no_code() -> None:
    head = assembled("thumb", "push {r4, lr}; ldr r0, [pc, #8]; cmp r0, r1; bne 0x1010; bx r2; nop")
    code = head + bytes.fromhex("00b5 00b5") + assembled("thumb", "movs r4, #0; pop {r4, pc}")  # push {lr}, twice
    assert row_in("thumb", code, 0x10).cfa == RegisterPlus("sp", 8)
    with pytest.raises(NoUnwindInfo, match="no way"):
        row_in("thumb", code, 0x0E)


def test_code_that_no_way_leads_to_changes_nothing_that_a_way_leads_to() -> None:
    code = assembled("x86_64", "push rcx; test rdi, rdi; jne 0x100a; jmp rax; xor ebx, ebx; nop; pop rcx; ret")
    assert row_in("x86_64", code, 10).registers.get("rbx") is None
    assert row_in("x86_64", code, 8).cfa == RegisterPlus("rsp", 16)


def test_exceptions_land_in_the_frame_with_all_that_is_saved_on_some_way() -> None:
    frameless = "sub rsp, 8; call 0x9000; add rsp, 8; ret; "
    code = assembled(
        "x86_64", "test rdi, rdi; jne 0x1013; " + frameless + "push rbx; call 0x9000; pop rbx; ret; mov ebx, 1; ret"
    )
    row = row_in("x86_64", code, len(code) - 1)
    assert (row.cfa, row.registers["rbx"]) == (RegisterPlus("rsp", 16), AtCfa(-16))


def test_a_tail_call_through_a_pointer_is_no_jump_table() -> None:
    """Behind the tail call lies where exceptions land, in the frame of the call before it."""
    text = "push rbx; mov rbx, rsi; call 0x9000; mov rax, rbx; pop rbx; jmp rax; endbr64; mov rdi, rax; ret"
    for marked in (text, text.replace("endbr64; ", "")):
        code = assembled("x86_64", marked.replace("endbr64", ".byte 0xf3, 0x0f, 0x1e, 0xfa"))
        assert row_in("x86_64", code, len(code) - 1).cfa == RegisterPlus("rsp", 16)


def test_a_jump_through_a_register_goes_where_no_other_way_leads() -> None:
    code = assembled("x86_64", "push rbx; jmp rax; xor ebx, ebx; pop rbx; ret")
    assert row_in("x86_64", code, 3).cfa == RegisterPlus("rsp", 16)
    assert row_in("x86_64", code, 5).registers["rbx"] == AtCfa(-16)


def test_code_that_nothing_leads_to_is_unknown() -> None:
    with pytest.raises(NoUnwindInfo, match="no way from the function's entry"):
        row_in("x86_64", assembled("x86_64", "push rbx; pop rbx; ret; mov eax, ebx; ret"), 3)


def test_a_table_branch_is_read_and_its_table_is_no_code() -> None:
    head = assembled("thumb", "push {r4, r5, r6, r7, lr}; movs r4, #1; tbb [pc, r0]")
    table = bytes([2, 4, 2, 5])  # halved distances from the table
    cases = assembled("thumb", "movs r5, #1; nop; movs r6, #1; movs r7, #1; pop {r4, r5, r6, r7, pc}")
    code = head + table + cases
    last = row_in("thumb", code, len(head + table) + 8)
    assert (last.cfa, last.registers["r4"], last.registers["r7"]) == (RegisterPlus("sp", 20), AtCfa(-20), AtCfa(-8))
    with pytest.raises(NoUnwindInfo):
        row_in("thumb", code, len(head))


def test_predicated_returns_leave_the_frame_of_those_who_stay() -> None:
    text = "push {r4, lr}; cmp r0, #0; addeq sp, sp, #0; popeq {r4, pc}; mov r4, #1; pop {r4, pc}"
    assert cfa_before("a32", text, 4) == RegisterPlus("sp", 8)
    assert cfa_before("a32", text, 5) == RegisterPlus("sp", 8)


def test_under_one_condition_two_instructions_see_one_state() -> None:
    text = "push {r4, lr}; cmp r0, #0; popeq {r4, lr}; bxeq lr; mov r4, #1; pop {r4, pc}"
    assert cfa_before("a32", text, 4) == RegisterPlus("sp", 8)
    with pytest.raises(NoUnwindInfo):  # before bxeq it depends on the flags
        cfa_before("a32", text, 3)


def test_a_branch_under_a_condition_takes_the_state_under_it_away() -> None:
    text = "push {r4, lr}; cmp r0, #0; popeq {r4, lr}; beq 0x9000; mov r4, #1; adds r4, r4, #1; pop {r4, pc}"
    assert [cfa_before("a32", text, i) for i in (4, 5, 6)] == [RegisterPlus("sp", 8)] * 3
    with pytest.raises(NoUnwindInfo):  # before beq it depends on the flags
        cfa_before("a32", text, 3)
    text = text.replace("beq", "bne")  # the other way round: what is left has been popped
    assert cfa_before("a32", text, 4) == RegisterPlus("sp", 0)


def test_a_probing_loop_ends_at_its_limit() -> None:
    loop = "lea r11, [rsp - 0x5000]; sub rsp, 0x1000; mov qword ptr [rsp], 0; cmp rsp, r11; jne 0x1008; nop; ret"
    assert cfa_before("x86_64", loop, 5) == RegisterPlus("rsp", 0x5008)
    assert cfa_before("x86_64", loop, 3) == RegisterPlus("r11", 0x5008)


def test_a_callee_that_pops_its_arguments_is_looked_at() -> None:
    caller = "push 1; push 2; call 0x100b; nop; ret"
    code = assembled("x86_64", caller)
    size = len(code)
    code = code.ljust(11, b"\xcc") + assembled("x86_64", "mov rax, [rsp + 8]; ret 16")
    image = image_of("x86_64", code, ("f", 0, size), ("g", 11, len(code) - 11))
    assert row_at(image, START + size - 1).cfa == RegisterPlus("rsp", 8)


def test_push_and_return_is_a_jump() -> None:
    code = assembled("x86_64", "lea rax, [rip + 3]; push rax; ret; int3; push rbx; ret")
    assert row_in("x86_64", code, 10).cfa == RegisterPlus("rsp", 8)


def test_a_signals_trampoline_is_refused() -> None:
    with pytest.raises(NoUnwindInfo, match="signal"):
        row_in("x86_64", assembled("x86_64", "mov eax, 15; syscall"), 0)
    assert row_in("x86_64", assembled("x86_64", "mov eax, 60; syscall"), 0).cfa == RegisterPlus("rsp", 8)
