// A function that is marked as the frame of a signal, for its rows to count at its very pc, as OCaml's runtime does. It
// is called, so its registers lie where it puts them, and what is wrong is corrected as of any function.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `stp x29, x30, [sp, -16]!`, at -2, 2: `.cfi_offset 29, -16`; f < no code (the word at CFA-8); tried: it makes 1 instruction right and none wrong
// | f (stp x29, x30, [sp, -16]!): the caller is lost: the row says x30 is at CFA-8, x30 still has the caller's value; the row says x29 is at CFA-16, x29 still has the caller's value: move `.cfi_offset 29, -16` and `.cfi_offset 30, -8` from lines 6 and 7 behind line 9 (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.
// case: the same without the mark
// -  .cfi_signal_frame
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `stp x29, x30, [sp, -16]!`, at -2, 2: `.cfi_offset 29, -16`; f < no code (the word at CFA-8); tried: it makes 1 instruction right and none wrong
// | f (stp x29, x30, [sp, -16]!): the caller is lost: the row says x30 is at CFA-8, x30 still has the caller's value; the row says x29 is at CFA-16, x29 still has the caller's value: move `.cfi_offset 29, -16` and `.cfi_offset 30, -8` from lines 5 and 6 behind line 8 (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

 .text
 .globl f
 .type f, %function
f: .cfi_startproc
 .cfi_signal_frame
 .cfi_offset 29, -16
 .cfi_offset 30, -8
 stp x29, x30, [sp, -16]!
 .cfi_adjust_cfa_offset 16
 mov x0, #1
 ldp x29, x30, [sp], 16
 .cfi_adjust_cfa_offset -16
 .cfi_restore 29
 .cfi_restore 30
 ret
 .cfi_endproc
 .size f, . - f
