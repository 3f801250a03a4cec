// A part that a function leads to as its first row says stays one, though an empty function at its place is called.
//
// case: as it is
// | 3 of 3 agree
// case: nothing but the call leads there
// -         je      1b
// +         nop
// | 2 of 3 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f.cold+0x0 (row of f.cold+0x0): the row says CFA = rsp+0x20; rsp is CFA-0x8

        .globl f, h
        .type h, @function
h:      .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    f.cold
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size h, .-h
        .type f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 32
1:      movl    $2, %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f.cold, .-f.cold
        .type f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        testq   %rdi, %rdi
        je      1b
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size f, .-f
