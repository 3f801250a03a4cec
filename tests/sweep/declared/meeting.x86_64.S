// Two ways meet with SP at different places, and perhaps nobody comes one of them: where SP is from there on is not known.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x1f (row of f+0x1f): the row says CFA = rsp+0x8; rsp is an address in the stack, at a distance from the CFA that is not known, coming from f+0x1e

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        subq    $8, %rsp
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        jne     1f
        pushq   %rdi
        call    leave@PLT
1:      addq    $8, %rsp
        movl    (%rbx), %eax
        popq    %rbx
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size f, .-f
