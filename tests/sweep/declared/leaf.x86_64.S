// A function of one row.
//
// case: as it is
// | 2 of 2 agree
// case: its only row is wrong
// - f:      .cfi_startproc
// + f:      .cfi_startproc
// +         .cfi_adjust_cfa_offset 8
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x0 (row of f+0x0): the row says CFA = rsp+0x10; rsp is CFA-0x8
// case: its only row is wrong, and it ends with a jump
// - f:      .cfi_startproc
// + f:      .cfi_startproc
// +         .cfi_adjust_cfa_offset 8
// -         ret
// +         jmp     g
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x0 (row of f+0x0): the row says CFA = rsp+0x10; rsp is CFA-0x8

        .globl f, g
        .type f, @function
f:      .cfi_startproc
        movq    %rdi, %rax
        ret
        .cfi_endproc
        .size f, .-f
        .type g, @function
g:      .cfi_startproc
        xorl    %eax, %eax
        leaq    (%rdi), %rax
        retq
        .cfi_endproc
        .size g, .-g
