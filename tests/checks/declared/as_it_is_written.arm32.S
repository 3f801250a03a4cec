// Lists of registers as their author writes them, and a correction where the directive stands.
// ! {"tables": ["ehabi"]}
//
// case: every row is right
// | it: every row is right; all 16 instructions were executed.
// | f: 14, 14 executed, all came back
// | g: 2, 2 executed, all came back
// case: a list without the link register
// -         .save {r4, r5, r6, fp, lr}
// +         .save {r4, r5, r6, fp}
// | it: 1 of 2 functions has a wrong row; all 16 instructions were executed.
// | error `bl g`, at -7, 9: `.save {r4, r5, r6, fp}`; f < what is in lr; tried: it makes 2 instructions right and none wrong
// | f+0x18 (bl g): the caller is lost: the row says CFA = sp+28, the true CFA is sp+32 here; the row says lr is still in lr, the caller's lr is at CFA-4; the row says r4 is at CFA-16, the caller's r4 is at CFA-20; the row says r5 is at CFA-12, the caller's r5 is at CFA-16; the row says r6 is at CFA-8, the caller's r6 is at CFA-12; the row says r11 is at CFA-4, the caller's r11 is at CFA-8: write `.save {r4, r5, r6, fp, lr}` for `.save {r4, r5, r6, fp}` in line 7 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 14, 14 executed, all came back
// | g: 2, 2 executed, all came back
// | as is advised: it: every row is right; all 16 instructions were executed.
// case: no room is told of
// -         .pad #12
// | it: 1 of 2 functions has a wrong row; all 16 instructions were executed.
// | error `bl g`, at -6, 9: `.save {r4, r5, r6, fp, lr}`; f < no code (the caller's r5); tried: it makes 2 instructions right and none wrong
// | f+0x18 (bl g): the caller is lost: the row says CFA = sp+20, the true CFA is sp+32 here: add `.pad #12` behind line 7 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 14, 14 executed, all came back
// | g: 2, 2 executed, all came back
// | as is advised: it: every row is right; all 16 instructions were executed.

        .syntax unified
        .text
        .globl f
        .type f, %function
f:      .fnstart
        push {r4, r5, r6, fp, lr}
        .save {r4, r5, r6, fp, lr}
        sub sp, sp, #12
        .pad #12
        mov r4, r0
        mov r5, r1
        mov r6, #3
        mov fp, #4
        bl g
        add r0, r0, r4
        bl g
        add r0, r0, r5
        add r0, r0, r6
        add r0, r0, fp
        add sp, sp, #12
        pop {r4, r5, r6, fp, pc}
        .fnend
        .size f, .-f
        .globl g
        .type g, %function
g:      .fnstart
        add r0, r0, #1
        bx lr
        .cantunwind
        .fnend
        .size g, .-g
