// A function of one row.
//
// case: as it is
// | 1 of 1 agree
// case: its only row is wrong
// - f:      .cfi_startproc
// + f:      .cfi_startproc
// +         .cfi_adjust_cfa_offset 8
// | 0 of 1 agree
// | suspect: CFA: the function returns from somewhere else than its rows say
// | f+0x3 (row of f+0x0): the row says CFA = rsp+0x10; rsp is CFA-0x10

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    %rdi, %rax
        ret
        .cfi_endproc
        .size f, .-f
