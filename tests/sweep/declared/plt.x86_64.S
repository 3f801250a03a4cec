// What GNU ld writes into `.plt` and its row: the first instructions are reached from the stubs behind them only, and the
// CFA there depends on the address. Nothing says that a function leads to its beginning, and nothing doubts it.
//
// case: as ld writes it
// | 1 of 1 agree
// case: the word that the stubs push is not counted
// -         .cfi_def_cfa_offset 24
// +         .cfi_def_cfa_offset 16
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x6 (row of f+0x6): the row says CFA = rsp+0x10; rsp is CFA-0x18, coming from f+0x0

        .globl f
        .p2align 4
        .type f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq   8(%rip)
        .cfi_def_cfa_offset 24
        jmp     *16(%rip)
        .byte   0x0f, 0x1f, 0x40, 0 // nopl 0(%rax)
        .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
        jmp     *24(%rip)
        .byte   0x68, 0, 0, 0, 0 // pushq $0
        jmp     f
        .cfi_endproc
        .size f, .-f
