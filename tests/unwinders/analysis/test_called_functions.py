"""What calls leave behind: calls that are none, and callees that take a word of their caller's off the stack."""

from __future__ import annotations

import pytest

from testbed.contract.rows import AtCfa, RegisterPlus, UnwindRow
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.function_rows import row_at


def rows_of(isa: str, text: str, *symbols: tuple[str, int, int]) -> list[UnwindRow]:
    """The row before each instruction of the code of ``text``."""
    parts = [part.strip() for part in text.split(";")]
    image = image_of(isa, assembled(isa, text), *symbols)
    ends = [len(assembled(isa, "; ".join(parts[:n]))) if n else 0 for n in range(len(parts))]
    return [row_at(image, START + at) for at in ends]


def test_a_return_thunks_call_of_its_own_end_is_none() -> None:
    """As GCC writes them: call 1f; 2: pause; lfence; jmp 2b; 1: lea rsp, [rsp + 8]; ret."""
    thunk = bytes.fromhex("e807000000 f390 0faee8 ebf9 488d642408 c3")
    image = image_of("x86_64", thunk)
    assert [row_at(image, START + at).cfa for at in (0, 0xC, 0x11)] == [RegisterPlus("rsp", n) for n in (8, 16, 8)]


def test_a_retpolines_call_of_its_own_end_is_none() -> None:
    """call 1f; 2: pause; lfence; jmp 2b; 1: mov [rsp], rax; ret: it returns to where rax says."""
    image = image_of("x86_64", bytes.fromhex("e807000000 f390 0faee8 ebf9 48890424 c3"))
    assert [row_at(image, START + at).cfa for at in (0, 0xC, 0x10)] == [RegisterPlus("rsp", n) for n in (8, 16, 16)]


def test_a_subroutine_that_returns_has_a_caller() -> None:
    """push rbx; call 1f; pop rbx; ret; 1: push rcx; pop rcx; ret."""
    image = image_of("x86_64", bytes.fromhex("53 e802000000 5b c3 51 59 c3"))
    assert [row_at(image, START + at).cfa for at in (1, 6, 8, 9)] == [RegisterPlus("rsp", n) for n in (16, 16, 8, 16)]


def test_an_address_that_is_called_for_and_taken_is_pushed() -> None:
    """push rbx; call 1f; 1: pop rbx; lea rax, [rbx + 1]; pop rbx; ret: position-independent code of old."""
    image = image_of("x86_64", bytes.fromhex("53 e800000000 5b 31db 5b c3"))
    assert [row_at(image, START + at).cfa for at in (6, 7, 9, 10)] == [RegisterPlus("rsp", n) for n in (24, 16, 16, 8)]
    assert row_at(image, START + 9).registers["rbx"] == AtCfa(-16)


@pytest.mark.parametrize("short", [True, False])
def test_a_profiler_takes_the_return_address_that_is_pushed_for_it(short: bool) -> None:
    """GCC's -pg: push {lr}; bl __gnu_mcount_nc. The GNU C library's calls on, and ends in pop {..., ip, lr}; bx ip."""
    function = "push {lr}; bl 0x1010; add r0, r0, #4; bx lr; "
    simple = "push {lr}; ldr lr, [sp, #4]; ldr pc, [sp], #8"
    long = (
        "push {r0, r1, r2, r3, lr}; bic r1, lr, #1; ldr r0, [sp, #20]; bl 0x9000; pop {r0, r1, r2, r3, r12, lr}; bx r12"
    )
    rows = rows_of("a32", function + (simple if short else long), ("f", 0, 0x10), ("profiler", 0x10, 0))
    assert [row.cfa for row in rows[:4]] == [RegisterPlus("sp", n) for n in (0, 4, 0, 0)]
    assert "lr" not in rows[2].registers  # it is in lr again


def test_another_callee_leaves_the_word_on_top_where_it_is() -> None:
    function = "push {lr}; bl 0x1010; nop; pop {pc}; "
    rows = rows_of("a32", function + "push {r4, lr}; pop {r4, pc}", ("f", 0, 0x10), ("g", 0x10, 0))
    assert [row.cfa for row in rows[:4]] == [RegisterPlus("sp", n) for n in (0, 4, 4, 4)]
    assert rows[2].registers["lr"] == AtCfa(-4)


@pytest.mark.parametrize("constant", [0x460E_BF00, 0xE7F6_460E], ids=["nop; mov r6, r1", "mov r6, r1; b back"])
def test_a_call_in_front_of_a_constant_does_not_return(constant: int) -> None:
    """Read as instructions, the constant overwrites r6, and goes on into the function."""
    text = "push {r4, lr}; ldr r3, [pc, #12]; cbz r3, 0x100c; pop {r4, pc}; nop; nop; bl 0x9000"
    image = image_of("thumb", assembled("thumb", text) + constant.to_bytes(4, "little"))
    for at in (2, 4, 6, 0xC):
        row = row_at(image, START + at)
        assert row.cfa == RegisterPlus("sp", 8) and "r6" not in row.registers


def test_a_call_that_is_none_is_where_its_state_goes_whatever_was_called_before() -> None:
    """push rbx; call far; call 1f; 1: pop rbx; pop rbx; ret: behind the first call another state holds."""
    image = image_of("x86_64", bytes.fromhex("53 e8fa7f0000 e800000000 5b 31db 5b c3"))
    assert [row_at(image, START + at).cfa for at in (11, 12, 14)] == [RegisterPlus("rsp", n) for n in (24, 16, 16)]
    thunk = bytes.fromhex("5050 e8f97f0000 5858 e807000000 f390 0faee8 ebf9 488d642408 c3")
    image = image_of("x86_64", thunk)
    assert [row_at(image, START + at).cfa for at in (9, 21, 26)] == [RegisterPlus("rsp", n) for n in (8, 16, 8)]


@pytest.mark.parametrize(
    ("isa", "text", "back"),
    [
        ("x86_64", "sub rsp, 8; lea rax, [rip + 6]; push rax; jmp 0x9000; nop; add rsp, 8; ret", 17),
        ("arm64", "str x30, [sp, #-16]!; .byte 0x5e, 0, 0, 0x10; b 0x9000; nop; ldr x30, [sp], #16; ret", 12),
        ("a32", "push {r4, lr}; mov lr, pc; b 0x9000; nop; pop {r4, pc}", 12),
    ],
)
def test_a_call_in_two_instructions_comes_back_with_the_frame_that_it_left(isa: str, text: str, back: int) -> None:
    rows = rows_of(isa, text)
    at = next(row for row in rows if row.contains(START + back))
    assert (
        at.cfa
        == {"x86_64": RegisterPlus("rsp", 16), "arm64": RegisterPlus("sp", 16), "a32": RegisterPlus("sp", 8)}[isa]
    )


@pytest.mark.parametrize(("length", "depth"), [(40, 0), (70, 4)])
def test_a_profiler_is_short(length: int, depth: int) -> None:
    """What goes on for more than 64 instructions is followed no further: a callee like others."""
    callee = "nop; " * (length - 3) + "push {lr}; ldr lr, [sp, #4]; ldr pc, [sp], #8"
    code = assembled("a32", "push {lr}; bl 0x100c; nop; " + callee)
    image = image_of("a32", code, ("f", 0, 0xC), ("profiler", 0xC, 0))
    assert row_at(image, START + 8).cfa == RegisterPlus("sp", depth)


def test_a_subroutine_that_goes_on_where_the_function_does_is_one_though_it_never_comes_back() -> None:
    """Both ways lead to where the stack is left for another: that the return address is lost there says nothing."""
    text = "test rdi, rdi; jne 0x100c; call 0x100b; ret; nop; mov rsp, [rdi]; jmp qword ptr [rdi + 8]"
    image = image_of("x86_64", assembled("x86_64", text))
    assert [row_at(image, START + at).cfa for at in (0xA, 0xB, 0xC)] == [RegisterPlus("rsp", 8)] * 3
