// A branch that no call here takes: what a row says of a register behind it is read, where it was not proven.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 10 instructions were executed.
// | f: 10, 6 executed, 4 forced, all came back
// case: a save that is not told again
// -         .cfi_offset x19, -16
// - 1:      mov     w0, #-1
// + 1:      mov     w0, #-1
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | warning `1:      mov     w0, #-1`, at -1, 9: `.cfi_offset x30, -8`; f < caller (x19 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x18 (mov w0, #-1): x19 is shown wrong in the caller: the row says x19 is still in x19, the caller's x19 is at CFA-16: add `.cfi_offset x19, -16` behind line 18 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.

        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x19, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x19, -16
        .cfi_offset x30, -8
        mov     x19, x0
        cbz     x0, 1f
        ldrb    w0, [x19]
        ldp     x19, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x19
        .cfi_restore x30
        ret
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -8
        .cfi_offset x19, -16
1:      mov     w0, #-1
        nop
        ldp     x19, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x19
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
