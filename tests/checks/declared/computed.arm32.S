// What a macro chooses or repeats is not followed: nothing is said of a line that perhaps makes no code.
// ! {"runs": 60, "steps": 200}
//
// case: the branch that is not compiled has more statements
// -         .cfi_def_cfa_offset 0
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `LEAVE   r0`, at +0, 9: `LEAVE r0` in LEAVE, -14; f < caller < no code (the word at CFA+192); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0xc (add r0, r0, #1): the caller is found, and who called it is lost: the row says CFA = sp+8, the true CFA is sp+0 here: add `.cfi_adjust_cfa_offset -8` behind line 10 (in LEAVE, used in line 24) (.debug_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .syntax unified
        .arm
        .text
        .cfi_sections .debug_frame
        .macro  LEAVE a
#ifdef NEVER
        lsl     \a, \a, #1
        lsl     \a, \a, #2
#else
        pop     {r4, lr}
        .cfi_def_cfa_offset 0
        .cfi_restore r4
        .cfi_restore lr
        add     \a, \a, #1
#endif
        .endm
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        push    {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset lr, -4
        .cfi_offset r4, -8
        mov     r4, r0
        LEAVE   r0
        bx      lr
        .cfi_endproc
        .size   f, .-f
