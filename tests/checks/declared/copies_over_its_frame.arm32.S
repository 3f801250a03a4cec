// Dalvik's `dvmPlatformInvoke` makes room as one argument says and copies as many words as another: made up, they do
// not belong together. The table holds at calls only, and none comes before.
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 10 executed, 2 forced, some came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 1: a jump to where no code is
// case: the registers are not told
// -         .save {r4, r5, r6, lr}
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `2:      blx r1`, at +0, 9: `blx r1`; f < caller < no code (a word of the caller's frame)
// | f+0x24 (blx r1): the caller is found, and who called it is lost: the row says CFA = sp+8, the true CFA is sp+24 here; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.ARM.exidx; seen when it was executed)
// | f: 12, 10 executed, 2 forced, some came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 1: a jump to where no code is

        .syntax unified
        .arm
        .text
        .globl f
        .type f, %function
f:      .fnstart
        push {r4, r5, r6, lr}
        .save {r4, r5, r6, lr}
        sub sp, sp, #8
        .pad #8
        mov r4, r0
        mov r2, sp
1:      subs r3, r3, #1
        bmi 2f
        ldr ip, [r0], #4
        str ip, [r2], #4
        b 1b
2:      blx r1
        add sp, sp, #8
        pop {r4, r5, r6, pc}
        .fnend
        .size f, .-f
