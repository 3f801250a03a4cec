// libffi's `ffi_call_SYSV`: the frame lies where an argument says, and its CFA is behind it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 2 of 6 instructions were executed (33.3 %), 4 undecided, in calls.
// | calls: 6, 2 executed, 4 never, all came back
// | note: 4 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: another slot
// -         .cfi_rel_offset lr, 4
// +         .cfi_rel_offset lr, 8
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `mov r11, r1`, at -3, 9: `.cfi_def_cfa r1, 8`; calls < no code (a word that lies elsewhere); tried: it makes 4 instructions right and none wrong
// | calls+0x4 (mov r11, r1): the caller is lost: the row says CFA = r1+8, the true CFA is sp+0 here; the row says lr is at CFA+0, lr still has the caller's value; the row says r11 is at CFA-8, r11 still has the caller's value: write `.cfi_def_cfa sp, 0` for `.cfi_def_cfa r1, 8` in line 8, take out `.cfi_rel_offset r11, 0` in line 9, and `.cfi_rel_offset lr, 8` in line 10 (.debug_frame; seen when it was executed; 3 more instructions by the same cause)
// | error `add r0, r0, #1`, at -1, 9: `.cfi_def_cfa_register r11`; calls < no code (a word that lies elsewhere); tried: it makes 3 instructions right and none wrong
// | calls+0x8 (add r0, r0, #1): the caller is lost: the row says CFA = r11+8, the true CFA is sp+0 here: take out `.cfi_def_cfa_register r11` in line 12: together with what is advised above (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `add r0, r0, #1`, at -2, 9: `mov r11, r1`; calls < caller < no code (a word that lies elsewhere)
// | calls+0x8 (add r0, r0, #1): the caller, which counts from r11, is found, and who called it is lost: the row says r11 is at CFA-8, the caller's r11 is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | calls: 6, 6 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 6 instructions were executed.

        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl calls
        .type calls, %function
calls:  .cfi_startproc
        stm r1, {r11, lr}
        .cfi_def_cfa r1, 8
        .cfi_rel_offset r11, 0
        .cfi_rel_offset lr, 4
        mov r11, r1
        .cfi_def_cfa_register r11
        add r0, r0, #1
        mov r1, r11
        ldm r11, {r11, lr}
        .cfi_def_cfa sp, 0
        .cfi_restore r11
        .cfi_restore lr
        bx lr
        .cfi_endproc
        .size calls, .-calls
