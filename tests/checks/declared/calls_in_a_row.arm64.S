// A pad is not entered from a call that was just made: behind the first call stands another one, so who is sent
// away by that is its callee, which has no frame.
// ! {"alone": true, "runs": 40, "steps": 100}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 10, 7 executed, 3 forced, some came back
// | abort: 1, 1 forced, some came back

        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        bl      g
        bl      g
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x19
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset x19, -16
        mov     x19, x0
        mov     x0, x19
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
