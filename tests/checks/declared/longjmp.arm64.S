// Rows with a rule for SP itself are of another frame than the caller's, as longjmp's: nothing is said of them, also where
// they are only read.
//
// case: as it is
// | it: every row that was executed is right; 1 of 5 instructions were executed (20.0 %), 4 undecided, in jumps.
// | jumps: 5, 1 executed, 4 never, some came back
// | note: 2 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 3: a jump to where no code is
// case: no rule for SP
// -  .cfi_register sp, x2
// -  ldr x30, [x0, #24]
// +  ldr x30, [x0, #24]
// -  .cfi_same_value sp
// -  mov x0, x1
// +  mov x0, x1
// | it: 1 of 1 function has a wrong row; 3 of 5 instructions were executed (60.0 %), 2 undecided, in jumps.
// | error `mov sp, x2`, at -2, 2: `ldr x30, [x0, #24]`; jumps < what is in x30
// | jumps+0x8 (mov sp, x2): the caller is lost: the row says x30 is still in x30, the caller's x30 is in no one place at all 4 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed)
// | jumps: 5, 3 executed, 2 never, some came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 3: a jump to where no code is

 .text
 .globl jumps
 .type jumps, %function
jumps:
 .cfi_startproc
 ldr x2, [x0, #16]
 .cfi_register sp, x2
 ldr x30, [x0, #24]
 .cfi_same_value x30
 mov sp, x2
 .cfi_same_value sp
 mov x0, x1
 ret
 .cfi_endproc
 .size jumps, . - jumps
