// Without `.cfi_offset` of the link register: right up to the call, wrong behind it. What is called is another
// file's, so it may never come back; that the row is right then is what the instructions deny.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `bl elsewhere`, at -1, 9: `.cfi_offset r4, -8`; f < what is in lr; tried: it makes 3 instructions right and none wrong
// | f+0x4 (bl elsewhere): the caller is lost: the row says lr is still in lr, the caller's lr is at CFA-4: add `.cfi_offset lr, -4` behind line 9 (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.
// case: on a forced path
// -         .cfi_offset r4, -8
// +         .cfi_offset r4, -8
// +         eors r1, r0, r0
// +         beq 1f
// | it: 1 of 1 function has a wrong row; 4 of 6 instructions were executed (66.7 %), 2 only read.
// | error `add r4, r0, #1`, at -4, 9: `.cfi_offset r4, -8`; f < what is in lr; tried: it makes 2 instructions right and none wrong
// | f+0x10 (add r4, r0, #1): the caller is lost: the row says lr is still in lr, the caller's lr is at CFA-4: add `.cfi_offset lr, -4` behind line 9 (.debug_frame; only read: it follows from the instructions before it; 1 more instruction by the same cause)
// | f: 6, 4 executed, 2 static, all came back
// | note: .debug_frame: 1 instruction counts as right, though wrong on a forced path: f+0x14 (control was turned at f+0x8)
// | as is advised: it: every row is right; all 6 instructions were executed.

        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset r4, -8
        bl elsewhere
        add r4, r0, #1
1:      pop {r4, pc}
        .cfi_endproc
        .size f, .-f
