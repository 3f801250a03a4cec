// The save of a register is not told of.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `bl g`, at -2, 9: `.cfi_offset lr, -4`; f < caller (r4 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (bl g): r4 is shown wrong in the caller: the row says r4 is still in r4, the caller's r4 is at CFA-8: add `.cfi_offset r4, -8` behind line 9 (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: in a section that compilers do not use on it
// -         .cfi_sections .debug_frame
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `bl g`, at -2, 9: `.cfi_offset lr, -4`; f < caller (r4 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (bl g): r4 is shown wrong in the caller: the row says r4 is still in r4, the caller's r4 is at CFA-8: add `.cfi_offset r4, -8` behind line 8 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: in both sections
// -         .cfi_sections .debug_frame
// +         .cfi_sections .eh_frame, .debug_frame
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | warning `bl g`, at -2, 9: `.cfi_offset lr, -4`; f < caller (r4 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (bl g): r4 is shown wrong in the caller: the row says r4 is still in r4, the caller's r4 is at CFA-8: add `.cfi_offset r4, -8` behind line 9 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | warning `bl g`, at -2, 9: `.cfi_offset lr, -4`; f < caller (r4 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (bl g): r4 is shown wrong in the caller: the row says r4 is still in r4, the caller's r4 is at CFA-8: add `.cfi_offset r4, -8` behind line 9 (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset lr, -4
        mov r4, r0
        bl g
        add r0, r0, r4
        pop {r4, pc}
        .cfi_endproc
        .size f, .-f
