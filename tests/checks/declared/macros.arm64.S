// What is to change in a macro is told with the use and the macro's own line; numbers are the source's.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, all came back
// case: a directive of a macro in another one
// -  .cfi_adjust_cfa_offset 16 // save
// +  .cfi_adjust_cfa_offset 8 // save
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `BEGIN x19`, at +0, 2: `BEGIN x19` in SAVE, -11; f < caller < no code (a word of the caller's frame); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x8 (nop): the caller is found, and who called it is lost: the row says CFA = sp+8, the true CFA is sp+16 here: write `.cfi_adjust_cfa_offset 16` for `.cfi_adjust_cfa_offset 8` in line 5 (in SAVE, used in line 16) (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: a directive of the preprocessor's macro
// -  .cfi_adjust_cfa_offset -16
// +  .cfi_adjust_cfa_offset -8
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `ret`, at -1, 2: `TAKE(x19)` in TAKE, -18; f < caller < no code (the word at CFA+248); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x1c (ret): the caller is found, and who called it is lost: the row says CFA = sp+8, the true CFA is sp+0 here: write `.cfi_adjust_cfa_offset -16` for `.cfi_adjust_cfa_offset -8` in line 2 (in TAKE, used in line 20) (.eh_frame; seen when it was executed)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: one is missing behind an instruction of a macro
// -  .cfi_adjust_cfa_offset 16 // save
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `BEGIN x19`, at +0, 2: `BEGIN x19` in SAVE, -11; f < caller < no code (a word of the caller's frame); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | f+0x8 (nop): the caller is found, and who called it is lost: the row says CFA = sp+0, the true CFA is sp+16 here: add `.cfi_adjust_cfa_offset 16`, `.cfi_rel_offset \a, 0` and `.cfi_rel_offset \b, 8` behind line 4 (in SAVE, used in line 15) (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: one stands behind an instruction on its line
// -  sub sp, sp, #32; .cfi_adjust_cfa_offset 32
// +  sub sp, sp, #32; .cfi_adjust_cfa_offset 0x10
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `mov x0, x1`, at -1, 19: `.cfi_adjust_cfa_offset 0x10`; f < caller < no code (a word of the caller's frame); tried: it makes 4 instructions right and none wrong
// | f+0x10 (mov x0, x1): the caller is found, and who called it is lost: the row says CFA = sp+0x20, the true CFA is sp+0x30 here: write `.cfi_adjust_cfa_offset 32` for `.cfi_adjust_cfa_offset 0x10` in line 17 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

#define TAKE(a) ldp a, x30, [sp], #16; \
 .cfi_adjust_cfa_offset -16
.macro SAVE a, b
 stp \a, \b, [sp, #-16]!
 .cfi_adjust_cfa_offset 16 // save
.endm
.macro BEGIN a
 mov x9, x30
 SAVE \a, x30
 nop
.endm
 .text
 .globl f
 .type f, %function
f: .cfi_startproc
 BEGIN x19
 sub sp, sp, #32; .cfi_adjust_cfa_offset 32
 mov x0, x1
 add sp, sp, #32; .cfi_adjust_cfa_offset -32
 TAKE(x19)
 ret
 .cfi_endproc
 .size f, . - f
