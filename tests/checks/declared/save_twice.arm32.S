// `.save`, `.pad` and `.setfp` describe one frame for all calls of a function.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 16 instructions were executed.
// | f: 16, 16 executed, all came back
// case: `.save {r8, r9}` is missing
// - .save {r8, r9}
// | it: 1 of 1 function has a wrong row; all 16 instructions were executed.
// | error `bl first`, at -6, 1: `.pad #4`; f < no code (the caller's r6); tried: it makes 2 instructions right and none wrong
// | f+0x10 (bl first): the caller is lost: the row says CFA = sp+24, the true CFA is sp+32 here; the row says r8 is still in r8, the caller's r8 is at CFA-32; the row says r9 is still in r9, the caller's r9 is at CFA-28: add `.save {r8, r9}` behind line 12 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 16, 16 executed, all came back
// | as is advised: it: every row is right; all 16 instructions were executed.
// case: `.pad #4` is missing
// - .pad #4
// | it: 1 of 1 function has a wrong row; all 16 instructions were executed.
// | error `bl first`, at -8, 1: `.save {r4-r7, lr}`; f < no code (the caller's r7); tried: it makes 2 instructions right and none wrong
// | f+0x10 (bl first): the caller is lost: the row says CFA = sp+28, the true CFA is sp+32 here; the row says r8 is at CFA-28, the caller's r8 is at CFA-32; the row says r9 is at CFA-24, the caller's r9 is at CFA-28: add `.pad #4` behind line 10 (.ARM.exidx; seen when it was executed; 1 more instruction by the same cause)
// | f: 16, 16 executed, all came back
// | as is advised: it: every row is right; all 16 instructions were executed.

.syntax unified
.thumb
.fpu vfpv3
.text
.globl f
.type f, %function
f:
.fnstart
push {r4-r7, lr}
.save {r4-r7, lr}
sub sp, #4
.pad #4
push {r8, r9}
.save {r8, r9}
mov r4, r0
mov r5, r1
mov r8, r0
mov r9, r1
bl first
mov r4, r0
mov r5, r1
mov r8, r0
mov r9, r1
bl second
pop {r8, r9}
add sp, #4
pop {r4-r7, pc}
.fnend
.size f, .-f
