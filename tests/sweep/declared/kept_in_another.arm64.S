// A variable of the whole program in x19, as GHC's: who sets it for a while keeps it in a register of its own, also over
// calls. The return address is no such variable.
//
// case: as it is
// | 1 of 1 agree, 1 private
// case: it is kept in the frame
// -         mov     x20, x19
// +         str     x19, [sp, #24]
// -         mov     x19, x20
// +         ldr     x19, [sp, #24]
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x10 (row of f+0x8): the row says x19 is unchanged; there is the caller's x0, coming from f+0xc; wrong at a call, too
// case: the return address is kept in it
// -         stp     x20, x30, [sp]
// +         str     x20, [sp]
// -         .cfi_offset x30, -24
// -         mov     x20, x19
// -         mov     x19, x0
// +         mov     x20, x30
// -         mov     x19, x20
// -         ldp     x20, x30, [sp]
// +         mov     x30, x20
// +         ldr     x20, [sp]
// -         .cfi_restore x30
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x10 (row of f+0x8): the row says x30 is unchanged; there is another value, not the caller's, coming from f+0xc; wrong at a call, too

        .globl f
        .type f, %function
f:      .cfi_startproc
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        stp     x20, x30, [sp]
        .cfi_offset x20, -32
        .cfi_offset x30, -24
        mov     x20, x19
        mov     x19, x0
        bl      g
        mov     x19, x20
        ldp     x20, x30, [sp]
        .cfi_restore x20
        .cfi_restore x30
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size f, .-f
