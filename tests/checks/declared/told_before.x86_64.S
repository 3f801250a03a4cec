// A state is gone back to where something else is wrong that was told before.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | warning `nop`, at -1, 2: `xorl %ebx, %ebx`; f < caller (%rbx wrong) < main
// | f+0x2 (nop): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `nop`, at -1, 1: `.cfi_offset %rip, 64`; f < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x3 (nop): the caller is lost: the row says CFA = %rsi+0, the true CFA is %rsp+8 here; the row says %rip is at CFA+64, the caller's %rip is at CFA-8: add `.cfi_remember_state` behind line 7, and `.cfi_restore_state` behind line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 4, 4 executed, some came back
// | as is advised: it: 1 of 1 function has a wrong row; all 4 instructions were executed.

.text
.globl f
.type f, @function
f:
.cfi_startproc
 xorl %ebx, %ebx
 nop
.cfi_def_cfa %rsi, 0
.cfi_offset %rip, 64
 nop
 ret
.cfi_endproc
.size f, . - f
