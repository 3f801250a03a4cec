// x21 is saved between the two calls; the pad belongs to the second one. Nothing in the code says so, and in
// large functions what instructions alone say of a pad is nothing.
// ! {"alone": true, "runs": 40, "steps": 100}
//
// case: as it is
// | it: every row that was executed is right; 11 of 13 instructions were executed (84.6 %), 2 only read.
// | f: 12, 5 executed, 5 forced, 2 static, some came back
// | abort: 1, 1 forced, some came back
// case: the row of no call
// -         .cfi_offset x30, -24
// -         .cfi_offset x21, -16
// +         .cfi_offset x30, -24
// +         .cfi_offset x21, -8
// | it: every row that was executed is right; 11 of 13 instructions were executed (84.6 %), 2 only read.
// | f: 12, 5 executed, 5 forced, 2 static, some came back
// | abort: 1, 1 forced, some came back

        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      g
        cbz     x0, 2f
        str     x21, [sp, #16]
        .cfi_offset x21, -16
        mov     x21, x0
        bl      g
        mov     x0, x21
        ldr     x21, [sp, #16]
        .cfi_restore x21
2:      ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset x21, -16
        mov     x0, x21
        bl      abort
        .cfi_endproc
        .size   f, .-f
        .globl  abort
        .hidden abort
        .type   abort, %function
abort:  .cfi_startproc
        b       abort
        .cfi_endproc
        .size   abort, .-abort
