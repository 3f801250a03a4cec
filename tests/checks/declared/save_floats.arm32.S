// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, all came back
// case: `.vsave {d8, d9}` is missing
// - .vsave {d8, d9}
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `bl first`, at -5, 1: `.save {r4, lr}`; f < no code (the word at CFA-0x14); tried: it makes 2 instructions right and none wrong
// | f+0x10 (bl first): the caller is lost: the row says CFA = sp+0x8, the true CFA is sp+0x18 here; the row says d8 is still in d8, the caller's d8 is at CFA-0x18; the row says d9 is still in d9, the caller's d9 is at CFA-0x10: add `.vsave {d8, d9}` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.

.syntax unified
.thumb
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r4, lr}
.save {r4, lr}
vpush {d8, d9}
.vsave {d8, d9}
mov r4, r0
vmov d8, r0, r1
vmov d9, r0, r1
bl first
mov r4, r0
vmov d8, r0, r1
vmov d9, r0, r1
bl second
vpop {d8, d9}
pop {r4, pc}
.fnend
.size f, .-f
