// Every directive counts from the ones before: one that is forgotten is one finding.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 9, 9 executed, all came back
// case: the first push is not told of
// -         .cfi_adjust_cfa_offset 8
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `sub sp, #16`, at -2, 9: `.cfi_rel_offset r4, 0`; f < no code (another lr at other visits); tried: it makes 8 instructions right and none wrong
// | f+0x4 (sub sp, #16): the caller is lost: the row says CFA = sp+0, the true CFA is sp+8 here; the row says lr is at CFA+4, lr still has the caller's value; the row says r4 is at CFA+0, r4 still has the caller's value: add `.cfi_adjust_cfa_offset 8` before line 8 (.debug_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: the room is not told of, which is given back
// -         .cfi_adjust_cfa_offset 16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `str r5, [sp, #4]`, at -1, 9: `sub sp, #16`; f < no code (the word at CFA-20); tried: it makes 7 instructions right and none wrong
// | f+0x8 (str r5, [sp, #4]): the caller is lost: the row says CFA = sp+8, the true CFA is sp+24 here: add `.cfi_adjust_cfa_offset 16` behind line 11 (.debug_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: neither the room nor its end is told of
// -         sub sp, #16
// -         .cfi_adjust_cfa_offset 16
// +         sub sp, #16
// -         .cfi_adjust_cfa_offset -16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `str r5, [sp, #4]`, at -1, 9: `sub sp, #16`; f < no code (the word at CFA-20); tried: it makes 6 instructions right and none wrong
// | f+0x8 (str r5, [sp, #4]): the caller is lost: the row says CFA = sp+8, the true CFA is sp+24 here: add `.cfi_adjust_cfa_offset 16` behind line 11, and `.cfi_adjust_cfa_offset -16` behind line 19 (.debug_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r4, 0
        .cfi_rel_offset lr, 4
        sub sp, #16
        .cfi_adjust_cfa_offset 16
        str r5, [sp, #4]
        .cfi_rel_offset r5, 4
        mov r4, r0
        mov r5, r1
        add r0, r4, r5
        ldr r5, [sp, #4]
        .cfi_restore r5
        add sp, #16
        .cfi_adjust_cfa_offset -16
        pop {r4, pc}
        .cfi_endproc
        .size f, .-f
