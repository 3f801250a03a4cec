// A crash on purpose: a store to the first page, whose address is in a register. Nothing goes on behind it.
//
// case: as it is
// | 1 of 1 agree
// case: the address is one that there may be
// -         mov     x1, #1
// +         mov     x1, #0x10000
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x10 (row of f+0x10): the row says CFA = sp; sp is CFA-0x10, coming from f+0xc

        .globl f
        .type f, %function
f:      .cfi_startproc
        cbz     x0, 1f
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x1, #1
        strb    wzr, [x1]
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
1:      mov     w0, #3
        ret
        .cfi_endproc
        .size f, .-f
