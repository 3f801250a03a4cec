// A row of `.ARM.exidx` is that of who has called: what a call writes and what it does not preserve is nobody's then.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 5 instructions were executed.
// | f: 5, 5 executed, all came back
// case: the only call is made with the return address in lr, says the table
// -     .save {r4, lr}
// +     .pad #4
// +     .save {r4}
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `bl first`, at -3, 5: `.pad #4`; f < what is in lr; tried: it makes 1 instruction right and none wrong
// | f+0x8 (bl first): the caller is lost: the row says lr is still in lr, the caller's lr is at CFA-4: write `.save {r4, lr}` for `.pad #4` in line 10, and take out `.save {r4}` in line 11 (.ARM.exidx; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: the frame of the APCS, with SP's old value among what is saved
// -     push {r4, lr}
// -     .save {r4, lr}
// -     mov r4, r0
// +     mov ip, sp
// +     push {fp, ip, lr, pc}
// +     .pad #4
// +     .save {fp, ip, lr}
// +     sub fp, ip, #4
// +     .setfp fp, sp, #12
// -     mov r0, r4
// -     pop {r4, pc}
// +     sub sp, fp, #12
// +     ldm sp, {fp, sp, pc}
// | it: every row is right; all 6 instructions were executed.
// | f: 6, 6 executed, all came back
// case: arguments are kept over the call, those in vector registers, too
// -     push {r4, lr}
// -     .save {r4, lr}
// +     push {r0-r4, lr}
// +     .save {r0-r4, lr}
// +     vpush {d0-d7}
// +     .vsave {d0-d7}
// +     mov r0, r1
// -     pop {r4, pc}
// +     vpop {d0-d7}
// +     pop {r0-r4, pc}
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back

.syntax unified
.arm
.fpu vfpv3
.text
.globl f
.type f, %function
f:
    .fnstart
    push {r4, lr}
    .save {r4, lr}
    mov r4, r0
    bl first
    mov r0, r4
    pop {r4, pc}
    .fnend
.size f, .-f
