// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 10 instructions were executed.
// | f: 10, 10 executed, all came back
// case: `.pad #12` is missing
// - .pad #12
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `bl first`, at -4, 1: `.save {r4, r5, lr}`; f < no code (the word at CFA-16); tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says CFA = sp+12, the true CFA is sp+24 here: add `.pad #12` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: `.pad #12` is written as `.pad #16`
// - .pad #12
// + .pad #16
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `bl first`, at -3, 1: `.pad #16`; f < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says CFA = sp+28, the true CFA is sp+24 here: write `.pad #12` for `.pad #16` in line 12 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: `.save {r4, r5, lr}` is written as `.save {r4, lr}`
// - .save {r4, r5, lr}
// + .save {r4, lr}
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `bl first`, at -5, 1: `.save {r4, lr}`; f < no code (the caller's r5); tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says CFA = sp+20, the true CFA is sp+24 here; the row says r4 is at CFA-8, the caller's r4 is at CFA-12; the row says r5 is still in r5, the caller's r5 is at CFA-8: write `.save {r4, r5, lr}` for `.save {r4, lr}` in line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: `.save {r4, r5, lr}` is missing
// - .save {r4, r5, lr}
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `bl first`, at -6, 1: `.fnstart`; f < what is in lr; tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says CFA = sp+12, the true CFA is sp+24 here; the row says lr is still in lr, the caller's lr is at CFA-4; the row says r4 is still in r4, the caller's r4 is at CFA-12; the row says r5 is still in r5, the caller's r5 is at CFA-8: add `.save {r4, r5, lr}` behind line 8 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: it cannot be unwound
// - .fnstart
// + .fnstart
// + .cantunwind
// - push {r4, r5, lr}
// - .save {r4, r5, lr}
// + push {r4, r5, lr}
// - .pad #12
// | it: what was executed has no row, so none is known to be right; all 10 instructions were executed.
// | note `bl first`, at +0, 1: `bl first`; f < nothing more
// | f+0x8 (bl first): the caller is lost: the table says that this function cannot be unwound, and it is called (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// case: nothing is said of it
// - f:
// - .fnstart
// + f:
// - push {r4, r5, lr}
// - .save {r4, r5, lr}
// + push {r4, r5, lr}
// - sub sp, #12
// - .pad #12
// + sub sp, #12
// - .fnend
// | it: 1 of 1 function has code without a row; all 10 instructions were executed.
// | error `bl first`, at -4, 1: `push {r4, r5, lr}`; f < nothing more; tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: no row covers this instruction, and its function is called: add `.fnstart`, `.save {r4, r5, lr}` and `.pad #12` before line 8, and `.fnend` behind line 17 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: a frame that differs from call to call
// - bl first
// - mov r4, r0
// - mov r5, r1
// + bl first
// + mov r4, r0
// + mov r5, r1
// + push {r0, r1}
// - bl second
// + bl second
// + add sp, #8
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `bl second`, at +0, 1: `bl second`; f < no code (the caller's r4)
// | f+0x12 (bl second): the caller is lost: the row says CFA = sp+24, the true CFA is sp+32 here; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.ARM.exidx; seen when it was executed)
// | f: 12, 12 executed, all came back

.syntax unified
.thumb
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r4, r5, lr}
.save {r4, r5, lr}
sub sp, #12
.pad #12
mov r4, r0
mov r5, r1
bl first
mov r4, r0
mov r5, r1
bl second
add sp, #12
pop {r4, r5, pc}
.fnend
.size f, .-f
