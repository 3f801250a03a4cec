"""Functions with a part elsewhere, in assembly, with right rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartElsewhere:
    """A function with a part elsewhere, and how one wrong offset is written in the part."""

    text: str
    right: str
    wrong: str


SOURCES = {
    "x86_64": PartElsewhere(
        """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        je      f.cold
        xorl    %eax, %eax
back:   popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movl    $3, %eax
        popq    %rbp
        .cfi_def_cfa_offset 16
        .cfi_restore %rbp
        jmp     back
        .cfi_endproc
        .size   f.cold, .-f.cold
""",
        ".cfi_def_cfa_offset 24",
        ".cfi_def_cfa_offset 32",
    ),
    "arm64": PartElsewhere(
        """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        cbz     x0, f.cold
        mov     w0, #0
back:   ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #-16]!
        .cfi_def_cfa_offset 48
        .cfi_offset x19, -48
        mov     x19, #3
        ldr     x19, [sp], #16
        .cfi_def_cfa_offset 32
        .cfi_restore x19
        b       back
        .cfi_endproc
        .size   f.cold, .-f.cold
""",
        ".cfi_def_cfa_offset 48",
        ".cfi_def_cfa_offset 64",
    ),
}
