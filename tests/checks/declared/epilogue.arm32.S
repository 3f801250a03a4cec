// The same is wrong where nobody is known to leave it out.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `bx lr`, at -1, 9: `pop {r4, lr}`; f < no code (the word at CFA+4); tried: it makes 1 instruction right and none wrong
// | f+0xc (bx lr): the caller is lost: the row says CFA = sp+8, the true CFA is sp+0 here: add `.cfi_def_cfa_offset 0` behind line 12 (.debug_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset lr, -4
        .cfi_offset r4, -8
        bl g
        pop {r4, lr}
        bx lr
        .cfi_endproc
        .size f, .-f
