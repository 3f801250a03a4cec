// A frame pointer that is made before registers are saved below it: a table has `.setfp` by the last SP, and its
// author by the one where it stands.
// ! {"tables": ["ehabi"], "flags": ["-march=armv7-a", "-mfpu=neon"]}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 11 executed, some came back
// | dropped 1: SP leaves the stack
// case: its number
// - .setfp r7, sp, #4
// + .setfp r7, sp, #8
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `bl elsewhere`, at -8, 1: `.setfp r7, sp, #8`; f < no code (the caller's r8); tried: it makes 1 instruction right and none wrong
// | f+0x1c (bl elsewhere): the caller is lost: the row says CFA = r7+8, the true CFA is r7+12 here: write `.setfp r7, sp, #4` for `.setfp r7, sp, #8` in line 9 (.ARM.exidx; seen when it was executed)
// | f: 11, 11 executed, some came back
// | dropped 1: SP leaves the stack
// | as is advised: it: every row is right; all 11 instructions were executed.
// case: the registers below
// - .vsave {d8-d10}
// + .vsave {d8-d9}
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | warning `bl elsewhere`, at -6, 1: `.vsave {d8-d9}`; f < caller (d8 and d9 wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x1c (bl elsewhere): d8 and d9 are shown wrong in the caller: the row says d8 is at CFA-32, d8 still has the caller's value; the row says d9 is at CFA-24, d9 still has the caller's value: write `.vsave {d8-d10}` for `.vsave {d8-d9}` in line 11 (.ARM.exidx; seen when it was executed)
// | f: 11, 11 executed, some came back
// | dropped 1: SP leaves the stack
// | as is advised: it: every row is right; all 11 instructions were executed.

.syntax unified
.arm
.text
.globl f
.type f, %function
f: .fnstart
.save {r4, r7, r8, lr}
push {r4, r7, r8, lr}
.setfp r7, sp, #4
add r7, sp, #4
.vsave {d8-d10}
vpush {d8-d10}
sub r3, sp, r0, lsl #3
bic r3, r3, #7
mov sp, r3
mov r4, r0
bl elsewhere
sub sp, r7, #28
vpop {d8-d10}
pop {r4, r7, r8, pc}
.fnend
.size f, .-f
