// Vector registers that nobody preserves are saved, too: what lies below them is counted from there.
//
// case: SP is moved and it is not told
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `bl g`, at -3, 2: `.vsave {d0-d1}`; f < no code (the word at CFA-12); tried: it makes 1 instruction right and none wrong
// | f+0x10 (bl g): the caller is lost: the row says CFA = sp+24, the true CFA is sp+32 here: add `.pad #8` behind line 11 (.ARM.exidx; seen when it was executed)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

 .syntax unified
 .arm
 .text
 .globl f
 .type f, %function
f:
 .fnstart
 push {r4, lr}
 .save {r4, lr}
 vpush {d0-d1}
 .vsave {d0-d1}
 mov r4, r0
 sub sp, sp, #8
 bl g
 add sp, sp, #8
 vpop {d0-d1}
 pop {r4, pc}
 .fnend
 .size f, . - f
