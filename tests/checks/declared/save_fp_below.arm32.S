// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 11 executed, all came back
// case: `.pad #4` is missing
// - .pad #4
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `bl first`, at -6, 1: `.save {r4, r7, lr}`; f < no code (the caller's r7); tried: it makes 2 instructions right and none wrong
// | f+0x14 (bl first): the caller is lost: the row says CFA = r7+12, the true CFA is sp+40 here: add `.pad #4` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 11, 11 executed, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.

.syntax unified
.arm
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r4, r7, lr}
.save {r4, r7, lr}
sub sp, #4
.pad #4
mov r7, sp
.setfp r7, sp
sub sp, #24
mov r4, r0
bl first
mov r4, r0
bl second
mov sp, r7
add sp, #4
pop {r4, r7, pc}
.fnend
.size f, .-f
