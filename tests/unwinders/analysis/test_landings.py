"""Where exceptions land: which frame they find there, as the code from there on tells."""

from __future__ import annotations

from testbed.contract.rows import AtCfa, RegisterPlus, UnwindRow
from tests.unwinders.code import START, assembled, image_of
from unwinders.analysis.function_rows import row_at

# x21 is saved on one of two ways only, and both of them call.
SAVES_ON_ONE_WAY = (
    "stp x29, x30, [sp, #-0x40]!; mov x29, sp; stp x19, x20, [sp, #0x10]; mov x19, x0; bl 0x9000; cbz x0, 0x1028; "
    "str x21, [sp, #0x20]; mov x21, x0; bl 0x9000; ldr x21, [sp, #0x20]; "
    "ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret; "
)
BEHIND = START + 13 * 4


def rows_behind(landing: str) -> list[UnwindRow]:
    """The row of each instruction where exceptions land."""
    code = assembled("arm64", SAVES_ON_ONE_WAY + landing)
    image = image_of("arm64", code)
    return [row_at(image, at) for at in range(BEHIND, START + len(code), 4)]


def test_most_is_saved_where_the_code_does_not_say_otherwise() -> None:
    for row in rows_behind("mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200"):
        assert row.registers["x21"] == AtCfa(-0x20)


def test_what_is_saved_there_was_not_saved_before() -> None:
    before, save, *behind = rows_behind("mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; mov x0, x19; bl 0x9200")
    for row in (before, save):
        assert "x21" not in row.registers
        assert row.registers["x19"] == AtCfa(-0x30)
    for row in behind:
        assert row.registers["x21"] == AtCfa(-0x20)


def test_what_is_never_given_back_was_not_saved() -> None:
    """By a return, and by going on where the frame without it goes on."""
    rows = rows_behind("bl 0x9100; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret")
    assert all("x21" not in row.registers for row in rows)
    rows = rows_behind("bl 0x9100; b 0x1028")
    assert all("x21" not in row.registers for row in rows)


def test_what_is_given_back_was_saved() -> None:
    first, second, *_ = rows_behind("bl 0x9100; ldr x21, [sp, #0x20]; b 0x1028")
    assert first.registers["x21"] == second.registers["x21"] == AtCfa(-0x20)


def test_a_function_called_at_the_very_end_does_not_come_back_elsewhere_either() -> None:
    """Behind the first call of 0x9200 another exception lands: no register is saved there that was saved before."""
    rows = rows_behind(
        "mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200; mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; bl 0x9200"
    )
    assert all(row.registers["x21"] == AtCfa(-0x20) for row in (*rows[:4], *rows[6:]))
    assert all("x21" not in row.registers for row in rows[4:6])


def test_constants_behind_the_last_call_are_no_code() -> None:
    """A32: the word at the end, which would be an instruction, is loaded from there."""
    code = assembled(
        "a32",
        "push {r4, lr}; sub sp, sp, #8; mov r4, r0; bl 0x9000; cmp r0, #0; beq 0x1028; str r5, [sp]; "
        "ldr r5, [pc, #28]; bl 0x9000; ldr r5, [sp]; add sp, sp, #8; pop {r4, pc}; mov r4, r0; "
        "bl 0x9200; str r5, [sp]; bl 0x9200; .byte 0x00, 0x00, 0xa0, 0xe1",
    )
    image = image_of("a32", code)
    found = [row_at(image, START + at).registers.get("r5") for at in (0x30, 0x34, 0x38, 0x3C)]
    assert found == [AtCfa(-16), AtCfa(-16), None, AtCfa(-16)]


def test_sp_is_sure_where_a_frame_pointer_is_the_same_place() -> None:
    """Else the last call's arguments may lie below, which are off the stack where its exceptions land."""
    last = rows_behind("bl 0x9100; ldr x21, [sp, #0x20]; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret")[-1]
    assert last.cfa == RegisterPlus("sp", 0)
    assert not last.registers
    pushes = {
        "x86_64": "push rbp; mov rbp, rsp; push 1; push 2; call 0x9000; leave; ret; mov rdi, rax; call 0x9100",
        "arm64": "stp x29, x30, [sp, #-16]!; mov x29, sp; stp x0, x1, [sp, #-16]!; bl 0x9000; brk #1; bl 0x9100",
    }
    for isa, pointer in (("x86_64", "rbp"), ("arm64", "x29")):
        code = assembled(isa, pushes[isa])
        assert row_at(image_of(isa, code), START + len(code) - 4).cfa == RegisterPlus(pointer, 16)
