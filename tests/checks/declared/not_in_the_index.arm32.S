// Functions that an index does not know are one finding.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: 6 of 7 functions have code without a row; all 21 instructions were executed.
// | error `bl g`, at -1, 9: `push {r4, lr}`; f0 < nothing more; tried: it makes 6 instructions right and none wrong
// | f0+0x4 (bl g): the caller is lost: no row covers 6 functions that are called: f0, f1, f2, f3, f4 and f5: add `.fnstart` and `.save {r4, lr}` before the first instruction of each, and `.fnend` before the end of each (.ARM.exidx; seen when it was executed; 5 more instructions in 5 more functions by the same cause)
// | f0: 3, 3 executed, all came back
// | f1: 3, 3 executed, all came back
// | f2: 3, 3 executed, all came back
// | f3: 3, 3 executed, all came back
// | f4: 3, 3 executed, all came back
// | f5: 3, 3 executed, all came back
// | h: 3, 3 executed, all came back
// | as is advised: it: every row is right; all 21 instructions were executed.

        .syntax unified
        .text
        .globl f0
        .type f0, %function
f0:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f0, .-f0
        .globl f1
        .type f1, %function
f1:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f1, .-f1
        .globl f2
        .type f2, %function
f2:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f2, .-f2
        .globl f3
        .type f3, %function
f3:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f3, .-f3
        .globl f4
        .type f4, %function
f4:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f4, .-f4
        .globl f5
        .type f5, %function
f5:     push {r4, lr}
        bl g
        pop {r4, pc}
        .size f5, .-f5
        .globl h
        .type h, %function
h:      .fnstart
        .save {r4, lr}
        push {r4, lr}
        bl g
        pop {r4, pc}
        .fnend
