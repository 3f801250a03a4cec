// Nothing is said of a row that means another frame on purpose: it has a rule for SP itself.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 3 instructions were executed.
// | error `nop`, at -1, 2: `.cfi_offset %rip, 64`; jump < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | jump+0x4 (nop): the caller is lost: the row says CFA = %rsi+0, the true CFA is %rsp+8 here; the row says %rip is at CFA+64, the caller's %rip is at CFA-8: add `.cfi_remember_state` behind line 5, and `.cfi_restore_state` behind line 7 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | jump: 3, 3 executed, all came back
// | as is advised: it: every row is right; all 3 instructions were executed.
// case: on purpose
// -  .cfi_offset %rip, 64
// +  .cfi_offset %rip, 64
// +  .cfi_register %rsp, %rcx
// | it: every row that was executed is right; 1 of 3 instructions were executed (33.3 %), 2 undecided, in jump.
// | jump: 3, 1 executed, 2 never, all came back
// | note: 2 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: it counts from a register that there is none
// -  .cfi_def_cfa %rsi, 0
// -  .cfi_offset %rip, 64
// +  .cfi_def_cfa 4000, 8
// | it: every row that was executed is right; 1 of 3 instructions were executed (33.3 %), 2 undecided, in jump.
// | jump: 3, 1 executed, 2 never, all came back
// | note: 2 instructions are undecided, though executed: what was seen there proves no row right or wrong

.text
.globl jump
.type jump, @function
jump: .cfi_startproc
 movq 8(%rsi), %rcx
 .cfi_def_cfa %rsi, 0
 .cfi_offset %rip, 64
 nop
 ret
.cfi_endproc
.size jump, . - jump
