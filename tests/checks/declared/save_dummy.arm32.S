// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back
// case: `.pad #4` is missing
// - .pad #4
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `bl first`, at -3, 1: `.save {r4, r5, lr}`; f < no code (the caller's r5); tried: it makes 2 instructions right and none wrong
// | f+0xc (bl first): the caller is lost: the row says CFA = sp+0xc, the true CFA is sp+0x10 here: add `.pad #4` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: `.pad #4` is written as `.pad #4; .pad #8`
// - .pad #4
// + .pad #4
// + .pad #8
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `bl first`, at +0, 1: `bl first`; f < no code (the word at CFA+4); tried: it makes 2 instructions right and none wrong
// | f+0xc (bl first): the caller is lost: the row says CFA = sp+24, the true CFA is sp+16 here: write `.pad #4` for `.pad #12`; no patch is given: the directives of its frame do not stand above it as such (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 8 instructions were executed.

.syntax unified
.arm
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r3, r4, r5, lr}
.save {r4, r5, lr}
.pad #4
mov r4, r0
mov r5, r1
bl first
mov r4, r0
mov r5, r1
bl second
pop {r3, r4, r5, pc}
.fnend
.size f, .-f
