// The frame is taken down before a branch, and both ways have rows of their own.
//
// case: as it is
// | 1 of 1 agree
// case: the row behind the addition is missing
// -         addq    $24, %rsp
// -         .cfi_adjust_cfa_offset -24
// +         addq    $24, %rsp
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0xb (row of f+0x4): the row says CFA = rsp+0x20; rsp is CFA-0x8, coming from f+0x7

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        testq   %rdi, %rdi
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        je      1f
        ret
1:      xorl    %eax, %eax
        ret
        .cfi_endproc
        .size f, .-f
