// A frame that is aligned: its rules count from rbp, and rbp is the caller's again behind the pop.
//
// case: as it is
// | 1 of 1 agree
// case: the row behind the pop is missing
// -         popq    %rbp
// -         .cfi_def_cfa %rsp, 8
// -         .cfi_restore %rbp
// +         popq    %rbp
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x1a (row of f+0x19): the row says CFA = rbp+0x10; rbp is the caller's rbp, coming from f+0x19

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        subq    $56, %rsp
        andq    $-32, %rsp
        movq    %rdi, %rbx
        movq    %rbx, (%rsp)
        leaq    -8(%rbp), %rsp
        popq    %rbx
        .cfi_restore %rbx
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size f, .-f
