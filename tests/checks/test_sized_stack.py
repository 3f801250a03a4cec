"""A row that counts from SP where SP is as far from the CFA as an argument says: one call proves nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.checks.model import FileCheck
from testbed.micro.stack_moves import MoveKind, may_be_sized, stack_move
from testbed.report.check_words import answer
from tests.checks.sources import check_of

# Functions in assembly whose frame is as large as an argument says, with right rows.


@dataclass(frozen=True)
class SizedFrame:
    """A function with an array of variable size, and code behind a branch that only a forced path reaches.

    ``marked`` stands before that code. In the call with the least numbers ``wrong`` looks right there, which by rights
    counts from ``right``.
    """

    text: str
    wrong: str
    right: str
    marked: str = "/* here */"

    @property
    def spoilt(self) -> str:
        return self.text.replace(self.marked, self.wrong)


SIZED = {
    "x86_64": SizedFrame(
        """
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andl    $63, %edi
        leaq    15(,%rdi,4), %rax
        andq    $-16, %rax
        subq    %rax, %rsp
        xorl    %eax, %eax
        testl   %eax, %eax
        jne     2f
1:      leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        ret
2:      .cfi_restore_state
        /* here */
        movl    $3, %eax
        nop
        jmp     1b
        .cfi_endproc
        .size   f, .-f
""",
        ".cfi_def_cfa %rsp, 32",
        "rbp",
    ),
    "arm64": SizedFrame(
        """
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        and     x0, x0, #63
        lsl     x9, x0, #4
        sub     sp, sp, x9
        mov     w0, #0
        cbnz    w0, 2f
1:      mov     sp, x29
        .cfi_remember_state
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
2:      .cfi_restore_state
        /* here */
        mov     w0, #3
        nop
        b       1b
        .cfi_endproc
        .size   f, .-f
""",
        ".cfi_def_cfa sp, 32",
        "x29",
    ),
    "arm32": SizedFrame(
        """
        .syntax unified
        .arm
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        push    {r11, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset r11, -8
        .cfi_offset lr, -4
        mov     r11, sp
        .cfi_def_cfa_register r11
        and     r0, r0, #63
        lsl     r3, r0, #3
        sub     sp, sp, r3
        mov     r0, #0
        cmp     r0, #0
        bne     2f
1:      mov     sp, r11
        .cfi_remember_state
        .cfi_def_cfa_register sp
        pop     {r11, pc}
2:      .cfi_restore_state
        /* here */
        mov     r0, #3
        nop
        b       1b
        .cfi_endproc
        .size   f, .-f
""",
        ".cfi_def_cfa sp, 16",
        "r11",
    ),
}


pytest.importorskip("ziglang", reason="needs pip install ziglang")

_TRIED = "code.o: every row is right; all {} instructions were tried."


def _all_tried(check: FileCheck) -> bool:
    return answer("code.o", [check]) == _TRIED.format(check.total("instructions")) and not check.notes


@pytest.mark.parametrize("arch", SIZED)
def test_right_rows_behind_an_array_of_variable_size_are_right(tmp_path: Path, arch: str) -> None:
    assert _all_tried(check_of(tmp_path, SIZED[arch].text, arch))


@pytest.mark.parametrize("arch", SIZED)
def test_a_distance_from_sp_that_one_call_has_is_wrong_and_the_frame_pointer_advised(tmp_path: Path, arch: str) -> None:
    (finding,) = check_of(tmp_path, SIZED[arch].spoilt, arch).findings
    assert [thing.what for thing in finding.things] == ["CFA"] and finding.instructions == 3
    assert finding.things[0].true.startswith(f"the true CFA is {SIZED[arch].right}+")
    assert finding.repair is not None
    assert finding.repair.directives[0].startswith(f".cfi_def_cfa {SIZED[arch].right}, ")


# The size is a callee's answer, which is always the same here; a call of the file's own would be executed.
_ANSWERED = {
    "x86_64": ("andl    $63, %edi", "call elsewhere\n movl %eax, %edi"),
    "arm64": ("and     x0, x0, #63", "bl elsewhere"),
    "arm32": ("and     r0, r0, #63", "bl elsewhere"),
}


@pytest.mark.parametrize("arch", SIZED)
def test_what_no_other_size_was_tried_of_is_not_called_right(tmp_path: Path, arch: str) -> None:
    text = SIZED[arch].text.replace(*_ANSWERED[arch])
    assert _all_tried(check_of(tmp_path, text, arch))
    # The answer is 0: `SP` lies where it did before the array.
    there = {"x86_64": "%rsp, 16", "arm64": "sp, 16", "arm32": "sp, 8"}[arch]
    check = check_of(tmp_path, text.replace("/* here */", f".cfi_def_cfa {there}"), arch)
    assert not check.findings and check.total("never") == 3
    assert "every row that was tried is right" in answer("code.o", [check])
    (note,) = check.notes
    assert note.startswith("3 instructions counted as never reached: the rows there count from SP")


def test_where_sp_is_back_in_the_fixed_frame_it_counts_whoever_gives_it_back_once_more(tmp_path: Path) -> None:
    back = "movq %rbp, %rsp\n movq %rbp, %rsp\n .cfi_remember_state\n .cfi_def_cfa %rsp, 16\n nop\n popq %rbp"
    text = SIZED["x86_64"].text.replace("leave\n        .cfi_remember_state", back)
    assert _all_tried(check_of(tmp_path, text, "x86_64"))


_CONSTANT = {
    "x86_64": """
f:      .cfi_startproc
        movl    $0x5000, %r11d
        subq    %r11, %rsp
        .cfi_adjust_cfa_offset 0x5000
        leaq    16(%rsp), %rax
        addq    $0x5000, %rsp
        .cfi_adjust_cfa_offset -0x5000
        ret
        .cfi_endproc
""",
    "arm64": """
f:      .cfi_startproc
        mov     x16, #0x5000
        movk    x16, #1, lsl #16
        sub     sp, sp, x16
        .cfi_adjust_cfa_offset 0x15000
        add     x0, sp, #16
        add     sp, sp, x16
        .cfi_adjust_cfa_offset -0x15000
        ret
        .cfi_endproc
""",
    "arm32": """
        .syntax unified
        .arm
f:      .cfi_startproc
        ldr     r3, =0x5008
        sub     sp, sp, r3
        .cfi_adjust_cfa_offset 0x5008
        add     r0, sp, #16
        ldr     r3, =0x5008
        add     sp, sp, r3
        .cfi_adjust_cfa_offset -0x5008
        bx      lr
        .cfi_endproc
        .ltorg
""",
}


@pytest.mark.parametrize("arch", _CONSTANT)
def test_a_large_frame_by_a_constant_in_a_register_counts_as_any_other(tmp_path: Path, arch: str) -> None:
    kind = "%function" if arch == "arm32" else "@function"
    check = check_of(tmp_path, f".globl f\n .type f, {kind}\n{_CONSTANT[arch]} .size f, .-f\n", arch)
    assert _all_tried(check)


_ALIGNED = """
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rsp, %rbx
        {row}
        andq    $-{alignment}, %rsp
        {behind}
        nop
        movq    %rbx, %rsp
        .cfi_def_cfa %rsp, 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
"""


def test_behind_an_alignment_that_the_abi_does_not_give_sp_proves_nothing(tmp_path: Path) -> None:
    by_register = _ALIGNED.format(row=".cfi_def_cfa_register %rbx", behind="", alignment=64)
    assert _all_tried(check_of(tmp_path, by_register, "x86_64"))
    seen = 16
    checks = []
    for seen in (16, 32, 48, 64):  # as many bytes as the stack's beginning makes of it
        text = _ALIGNED.format(row="", behind=f".cfi_def_cfa_offset {seen}", alignment=64)
        checks.append(check_of(tmp_path, text, "x86_64"))
    assert not any(_all_tried(check) for check in checks)
    (not_proven,) = (check for check in checks if not check.findings)
    assert not_proven.total("never") == 2


def test_sixteen_bytes_are_the_abis_own_alignment(tmp_path: Path) -> None:
    text = _ALIGNED.format(row="", behind="", alignment=16)
    assert _all_tried(check_of(tmp_path, text, "x86_64"))


@pytest.mark.parametrize(
    ("isa", "text", "kind", "sized"),
    [
        ("x86_64", "sub rsp, rax", MoveKind.AMOUNT, True),
        ("x86_64", "lea rsp, [rsp + rax*8]", MoveKind.AMOUNT, True),
        ("x86_64", "mov rsp, rax", MoveKind.COPY, True),
        ("x86_64", "mov rsp, rbp", MoveKind.COPY, False),
        ("x86_64", "leave ", MoveKind.COPY, False),
        ("x86_64", "sub rsp, 0x20", None, False),
        ("x86_64", "lea rsp, [rsp - 8]", None, False),
        ("x86_64", "and rsp, 0xfffffffffffffff0", None, False),
        ("x86_64", "and rsp, 0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("arm64", "sub sp, sp, x9", MoveKind.AMOUNT, True),
        ("arm64", "mov sp, x29", MoveKind.COPY, False),
        ("arm64", "mov sp, x0", MoveKind.COPY, True),
        ("arm64", "sub sp, sp, #0x40", None, False),
        ("arm64", "and sp, x9, #0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("a32", "sub sp, sp, r3", MoveKind.AMOUNT, True),
        ("a32", "sub sp, fp, #8", MoveKind.COPY, False),
        ("a32", "bic sp, sp, #7", None, False),
        ("thumb", "sub.w sp, sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "add sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "mov sp, r7", MoveKind.COPY, False),
        ("thumb", "add sp, #8", None, False),
    ],
)
def test_how_instructions_move_sp(isa: str, text: str, kind: MoveKind | None, sized: bool) -> None:
    move = stack_move(isa, text)
    assert (move and move.kind, may_be_sized(isa, text)) == (kind, sized)
