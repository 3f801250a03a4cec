// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 10 instructions were executed.
// | f: 10, 10 executed, all came back
// case: `.setfp r7, sp, #4` is written as `.setfp r7, sp`
// - .setfp r7, sp, #4
// + .setfp r7, sp
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `bl first`, at -3, 1: `.setfp r7, sp`; f < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says CFA = r7+12, the true CFA is sp+32 here: write `.setfp r7, sp, #4` for `.setfp r7, sp` in line 12 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.

.syntax unified
.thumb
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r4, r7, lr}
.save {r4, r7, lr}
add r7, sp, #4
.setfp r7, sp, #4
sub sp, #20
mov r4, r0
bl first
mov r4, r0
bl second
sub r3, r7, #4
mov sp, r3
pop {r4, r7, pc}
.fnend
.size f, .-f
