// A linker's veneer, straight code that no entry is for and that jumps back, is part of the way; so is what is wrong there.
//
// case: as it is
// | 1 of 1 agree
// case: a row behind it is wrong
// -         .cfi_def_cfa_offset 0
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x18 (row of f+0x18): the row says CFA = sp+0x20; sp is CFA, coming from f+0x14
// case: the veneer moves the stack
// -         ldr     x2, [x29, #16]
// +         sub     sp, sp, #16
// | 0 of 1 agree
// | suspect: CFA: a jump leads to a row for another one
// | f+0x10 (row of f+0x4): the row says CFA = sp+0x20; sp is CFA-0x30, coming from f+0xc; wrong besides: x30
// case: it does not come back
// -         b       1b
// +         ret
// | 1 of 1 agree

        .globl f
        .type f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        adrp    x1, f
        b       2f
1:      add     x0, x1, x2
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
2:
        ldr     x2, [x29, #16]
        b       1b
