// The save of a register is not told of.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | warning `bl g`, at -2, 9: `str x19, [sp, #16]`; f < caller (x19 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0xc (bl g): x19 is shown wrong in the caller: the row says x19 is still in x19, the caller's x19 is at CFA-16: add `.cfi_offset x19, -16` behind line 9, and `.cfi_restore x19` behind line 17 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        stp x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str x19, [sp, #16]
        mov x19, x0
        bl g
        add x0, x0, x19
        ldr x19, [sp, #16]
        ldp x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
