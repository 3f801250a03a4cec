// Rows that are wrong where something is called mislead exceptions, too; others mislead only who stops between calls.
//
// case: as it is
// | 1 of 1 agree
// case: wrong in the epilogue only
// -         .cfi_adjust_cfa_offset -16
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x12 (row of f+0x8): the row says CFA = rsp+0x20; rsp is CFA-0x10, coming from f+0xe
// case: wrong before the call, and in the epilogue
// -         .cfi_adjust_cfa_offset 16
// +         .cfi_adjust_cfa_offset 8
// -         .cfi_adjust_cfa_offset -16
// +         .cfi_adjust_cfa_offset -8
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x8 (row of f+0x8): the row says CFA = rsp+0x18; rsp is CFA-0x20, coming from f+0x4; wrong at a call, too
// case: a register that is gone at the call
// -         .cfi_rel_offset %rbx, 0
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x4 (row of f+0x1): the row says rbx is unchanged; there is the caller's rdi, coming from f+0x1; wrong at a call, too

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        movq    %rdi, %rbx
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        call    *%rsi
        leaq    (%rax, %rbx), %rax
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
