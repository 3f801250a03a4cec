// A save that happened is told where it is, though the register has its value still.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 5 instructions were executed.
// | leaf: 5, 5 executed, all came back
// case: the slot of another register
// -  .cfi_offset x30, -24
// +  .cfi_offset x30, -16
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `mov x29, sp`, at -1, 2: `.cfi_offset x30, -16`; leaf < no code (the word at CFA-16); tried: it makes 3 instructions right and none wrong
// | leaf+0x4 (mov x29, sp): the caller is lost: the row says x30 is at CFA-16, x30 still has the caller's value: write `.cfi_offset x30, -24` for `.cfi_offset x30, -16` in line 8 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | leaf: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.
// case: a slot where nothing is
// -  .cfi_offset x30, -24
// +  .cfi_offset x30, -8
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `mov x29, sp`, at -1, 2: `.cfi_offset x30, -8`; leaf < no code (the word at CFA-8); tried: it makes 3 instructions right and none wrong
// | leaf+0x4 (mov x29, sp): the caller is lost: the row says x30 is at CFA-8, x30 still has the caller's value: write `.cfi_offset x30, -24` for `.cfi_offset x30, -8` in line 8 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | leaf: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

 .text
 .globl leaf
 .type leaf, %function
leaf: .cfi_startproc
 stp x29, x30, [sp, #-32]!
 .cfi_def_cfa_offset 32
 .cfi_offset x29, -32
 .cfi_offset x30, -24
 mov x29, sp
 add x0, x0, #1
 ldp x29, x30, [sp], #32
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
 .cfi_endproc
 .size leaf, . - leaf
