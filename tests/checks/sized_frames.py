"""Functions in assembly whose frame is as large as an argument says, with right rows."""

from __future__ import annotations

from dataclasses import dataclass


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
