// Pairs of general and of vector registers in one frame.
//
// case: as it is
// | 1 of 1 agree
// case: d9 is not told
// -         .cfi_offset d9, -8
// +         nop
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x18 (row of f+0x8): the row says d9 is unchanged; there is another value, not the caller's, coming from f+0x14; wrong at a call, too
// case: the record is told where it is not
// -         .cfi_offset x29, -32
// +         .cfi_offset x29, -24
// | 0 of 1 agree
// | suspect: a register is not where the row says it is saved
// | f+0x4 (row of f+0x4): the row says x29 is at CFA-0x18; there is the caller's x30, coming from f+0x0; wrong at a call, too
// case: the frame is told to be there too long
// -         ldp     x29, x30, [sp], #32
// -         .cfi_def_cfa_offset 0
// +         ldp     x29, x30, [sp], #32
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x24 (row of f+0x24): the row says CFA = sp+0x20; sp is CFA, coming from f+0x20

        .globl f
        .type f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     d8, d9, [sp, #16]
        .cfi_offset d8, -16
        .cfi_offset d9, -8
        mov     x29, sp
        fmov    d8, d0
        fadd    d9, d0, d0
        blr     x0
        fadd    d0, d8, d9
        ldp     d8, d9, [sp, #16]
        .cfi_restore d8
        .cfi_restore d9
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
