// What is wrong where a state is remembered is one mistake, and so it is behind `.cfi_restore_state`, where the
// end of a state may stand already.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 8 executed, 3 forced, all came back
// case: the CFA
// -  .cfi_def_cfa x29, 16
// +  .cfi_def_cfa x29, 64
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `cbnz x0, 3f`, at -1, 2: `.cfi_def_cfa x29, 64`; f < no code (the word at CFA+40); tried: it makes 2 instructions right and none wrong
// | f+0xc (cbnz x0, 3f): the caller is lost: the row says CFA = x29+64, the true CFA is sp+64 here: write `.cfi_def_cfa sp, 64` for `.cfi_def_cfa x29, 64` in line 11 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 11, 8 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.
// case: a slot is not said
// -  .cfi_offset x30, -8
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `3: bl more`, at -13, 2: `.cfi_offset x29, -16`; f < what is in x30; tried: it makes 2 instructions right and none wrong
// | f+0x1c (bl more): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-8: add `.cfi_offset x30, -8` behind line 8 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 11, 8 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.
// case: SP moves behind it
// - 3: bl more
// + 3: bl more
// +  sub sp, sp, #16
// +  bl more
// +  add sp, sp, #16
// | it: every row is right; all 14 instructions were executed.
// | f: 14, 11 executed, 3 forced, all came back
// case: wrong behind the restored state only
// -  .cfi_restore_state
// +  .cfi_restore_state
// +  .cfi_def_cfa sp, 64
// - 3: bl more
// + 3: bl more
// +  sub sp, sp, #16
// +  bl more
// +  add sp, sp, #16
// | it: 1 of 1 function has a wrong row; all 14 instructions were executed.
// | error `bl more`, at -1, 2: `sub sp, sp, #16`; f < no code (the word at CFA-24); tried: it makes 2 instructions right and none wrong
// | f+0x24 (bl more): the caller is lost: the row says CFA = sp+64, the true CFA is sp+80 here: add `.cfi_def_cfa_offset 80` behind line 24 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 14, 11 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.

 .text
 .globl f
 .type f, %function
f: .cfi_startproc
 sub sp, sp, #64
 .cfi_def_cfa_offset 64
 stp x29, x30, [sp, #48]
 .cfi_offset x29, -16
 .cfi_offset x30, -8
 add x29, sp, #48
 .cfi_def_cfa x29, 16
 cbnz x0, 3f
 .cfi_remember_state
 .cfi_def_cfa sp, 64
 ldp x29, x30, [sp, #48]
 add sp, sp, #64
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_restore_state
3: bl more
 .cfi_def_cfa sp, 64
 ldp x29, x30, [sp, #48]
 add sp, sp, #64
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_endproc
 .size f, . - f
