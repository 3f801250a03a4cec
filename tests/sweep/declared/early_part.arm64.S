// The first row is that of a frame, and nothing says who leads there: a part of a function, or a function whose first row
// is wrong.
//
// case: a pointer in data leads there
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x0 (row of f+0x0): the row says CFA = sp+0x10; sp is CFA; wrong besides: x30
// case: a call leads there
// -         .xword  f
// +         .xword  0
// -         nop // a caller
// +         bl      f
// | 0 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x0 (row of f+0x0): the row says CFA = sp+0x10; sp is CFA; wrong besides: x30
// | suspect: a register is overwritten that the row says is unchanged
// | g+0x4 (row of g+0x0): the row says x30 is unchanged; there is another value, not the caller's, coming from g+0x0; wrong at a call, too
// case: a function leads to the code behind its store
// -         nop // a caller
// +         stp     x30, x8, [sp, #-16]!
// +         .cfi_def_cfa_offset 16
// +         .cfi_offset x30, -16
// +         b       f + 8
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x0 (row of f+0x0): the row says CFA = sp+0x10; sp is CFA; wrong besides: x30

        .type f, %function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        sub     x8, x0, #16
        stp     x30, x8, [sp, #-16]!
        bl      g
        ldr     x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
        .globl g
        .type g, %function
g:      .cfi_startproc
        nop // a caller
        ret
        .cfi_endproc
        .size g, .-g
        .data
        .xword  f
