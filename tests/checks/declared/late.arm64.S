// The row of a call is that of who has called, as long as it lasts.
// ! {"runs": 40, "steps": 200}
//
// case: the return address is told behind the call
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `bl      g`, at +1, 9: `.cfi_offset x30, -8`; f < what is in x30; tried: it makes 1 instruction right and none wrong
// | f+0x4 (bl g): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-8: move `.cfi_offset x30, -8` from line 9 before line 8 (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.
// case: and at once
// -         bl      g
// -         .cfi_offset x30, -8
// +         .cfi_offset x30, -8
// +         bl      g
// | it: every row is right; all 4 instructions were executed.
// | f: 4, 4 executed, all came back

        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        bl      g
        .cfi_offset x30, -8
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
