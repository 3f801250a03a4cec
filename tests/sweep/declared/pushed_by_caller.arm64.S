// What lies above the CFA is the caller's: it may hold what the registers hold at the entry, as a PLT's header pushes it.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: a register: whether it is where the row says is not known
// | f+0x8 (row of f+0x4): the row says x30 is unchanged; there is something that is not known, coming from f+0x4
// case: in the frame nobody stored it
// -         ldr     x30, [sp, #24]
// +         ldr     x30, [sp, #8]
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x8 (row of f+0x4): the row says x30 is unchanged; there is another value, not the caller's, coming from f+0x4

        .globl f
        .type f, %function
f:      .cfi_startproc
        sub     sp, sp, #16
        .cfi_def_cfa_offset 16
        ldr     x30, [sp, #24]
        nop
        add     sp, sp, #16
        .cfi_def_cfa_offset 0
        br      x30
        .cfi_endproc
        .size f, .-f
