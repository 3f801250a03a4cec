// The stack is touched page by page, and the CFA counts from a register meanwhile.
//
// case: as it is
// | 1 of 1 agree
// case: it counts from SP in the loop
// -         .cfi_def_cfa %r11, 65544
// +         nop
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x10 (row of f+0x0): the row says CFA = rsp+0x8; rsp is CFA-0x1008, coming from f+0x9

        .globl f
        .type f, @function
f:      .cfi_startproc
        leaq    -65536(%rsp), %r11
        .cfi_def_cfa %r11, 65544
1:      subq    $4096, %rsp
        orq     $0, (%rsp)
        cmpq    %r11, %rsp
        jne     1b
        .cfi_def_cfa %rsp, 65544
        movq    %rdi, (%rsp)
        addq    $65536, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
