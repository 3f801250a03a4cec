// A return address with a signature: the row says so from the instruction behind the one that makes it.
//
// case: as it is
// | 1 of 1 agree
// case: it is not told
// -         .cfi_negate_ra_state
// -         stp     x29, x30, [sp, #-16]!
// +         stp     x29, x30, [sp, #-16]!
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x4 (row of f+0x0): the row says x30 is unchanged; there is the caller's x30 with a signature, coming from f+0x0; wrong at a call, too

        .globl f
        .type f, @function
f:      .cfi_startproc
        paciasp
        .cfi_negate_ra_state
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        blr     x0
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        autiasp
        .cfi_negate_ra_state
        ret
        .cfi_endproc
        .size f, .-f
