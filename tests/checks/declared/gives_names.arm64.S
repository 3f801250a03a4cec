// A statement that gives a register or a number a name is no instruction: what is advised stands behind the save.
//
// case: in a macro
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `SAVE`, at +0, 9: `SAVE` in SAVE, -7; f < caller < no code (a word of the caller's frame); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x4 (mov LEFT, x0): the caller is found, and who called it is lost: the row says CFA = sp+0, the true CFA is sp+16 here: add `.cfi_adjust_cfa_offset 16`, `.cfi_rel_offset x19, 0` and `.cfi_rel_offset x30, 8` behind line 4 (in SAVE, used in line 11) (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: told too early
// -         SIZE = 16
// +         SIZE = 16
// +         .cfi_def_cfa_offset SIZE
// +         .cfi_offset LEFT, -16
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `SAVE`, at +0, 9: `SAVE` in SAVE, -9; f < caller < no code (the word at CFA+256); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f (stp LEFT, x30, [sp, -SIZE]!): the caller is found, and who called it is lost: the row says CFA = sp+16, the true CFA is sp+0 here; the row says x19 is at CFA-16, x19 still has the caller's value: take out `.cfi_def_cfa_offset SIZE` in line 4 (in SAVE, used in line 13), add `.cfi_restore x19` before line 6 (in SAVE, used in line 13), and `.cfi_adjust_cfa_offset 16` and `.cfi_rel_offset x19, 0` before line 7 (in SAVE, used in line 13) (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .macro  SAVE
        LEFT .req x19
        SIZE = 16
        stp     LEFT, x30, [sp, -SIZE]!
        mov     LEFT, x0
        .endm
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        SAVE
        add     x0, x19, 1
        ldp     x19, x30, [sp], 16
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   f, . - f
