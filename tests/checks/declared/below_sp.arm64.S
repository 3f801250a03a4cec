// A return address is put away behind an epilogue: its old slot has it still, and is below SP.
//
// case: as it stands
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `add x0, x30, #1`, at -1, 9: `mov x30, x0`; f < what is in x30; tried: it makes 2 instructions right and none wrong
// | f+0x10 (add x0, x30, #1): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-8: add `.cfi_register x30, x9` behind line 13 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

        .globl f
        .type f, %function
f:      .cfi_startproc
        stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        ldp x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        mov x9, x30
        mov x30, x0
        add x0, x30, #1
        mov x30, x9
        ret
        .cfi_endproc
        .size f, .-f
