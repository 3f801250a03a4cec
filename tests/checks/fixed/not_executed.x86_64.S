// A save that is told as another register's, which the code that nobody executed might save.
// ! {"runs": 2, "steps": 20}
//
// case: the other register's slot
// -         .cfi_offset %rbx, -16
// +         .cfi_offset %r12, -16

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        .rept   60
        incq    %rbx
        .endr
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
