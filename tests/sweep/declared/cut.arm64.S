// A number that is not known is added to SP where the function ends: a frame is cut off, as __builtin_eh_return does it.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x14 (row of f+0x10): the row says CFA = sp; sp is something that is not known, coming from f+0x10
// case: in the midst of a frame
// -         ldp     x29, x30, [sp], #16
// -         .cfi_def_cfa_offset 0
// -         .cfi_restore x29
// -         .cfi_restore x30
// +         ldr     x29, [sp]
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x14 (row of f+0x4): the row says CFA = sp+0x10; sp is an address in the stack, at a distance from the CFA that is not known, coming from f+0x10

        .globl f
        .type f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      f
        mov     x4, x0
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        add     sp, sp, x4
        ret
        .cfi_endproc
        .size f, .-f
