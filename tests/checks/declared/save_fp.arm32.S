// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | f: 7, 7 executed, some came back
// | dropped 1: SP leaves the stack
// case: `.setfp r7, sp` is missing
// - .setfp r7, sp
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `bl first`, at -3, 1: `.save {r7, lr}`; f < no code (the word at CFA-516); tried: it makes 2 instructions right and none wrong
// | f+0xc (bl first): the caller is lost: the row says CFA = sp+8, the true CFA is r7+8 here: add `.setfp r7, sp` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, some came back
// | dropped 1: SP leaves the stack
// | as is advised: it: every row is right; all 7 instructions were executed.

.syntax unified
.arm
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r7, lr}
.save {r7, lr}
mov r7, sp
.setfp r7, sp
sub sp, sp, r0, lsl #3
bl first
bl second
mov sp, r7
pop {r7, pc}
.fnend
.size f, .-f
