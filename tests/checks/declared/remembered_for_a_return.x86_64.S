// A forgotten push in a function of two returns, whose state is remembered for the first: what is restored behind it
// is ended at the second, too.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `movq %rdi, %r12`, at -1, 1: `pushq %r12`; f < no code (the caller's %r12); tried: it makes 7 instructions right and none wrong
// | f+0x2 (movq %rdi, %r12): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %r12, -16` behind line 5, `.cfi_def_cfa_offset 8` and `.cfi_restore %r12` behind line 11, and `.cfi_restore %r12` behind line 16 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.
// case: the author tells of it
// - pushq %r12
// + pushq %r12
// + .cfi_def_cfa_offset 16
// + .cfi_offset %r12, -16
// - .cfi_remember_state
// + .cfi_remember_state
// + .cfi_def_cfa_offset 8
// + .cfi_restore %r12
// | it: every row is right; all 10 instructions were executed.
// | f: 10, 10 executed, all came back

.text
.globl f
.type f, @function
f: .cfi_startproc
pushq %r12
movq %rdi, %r12
testl $1, %edi
jz 7f
leaq (%r12,%r12), %rax
popq %r12
.cfi_remember_state
ret
.cfi_restore_state
7: leaq 5(%r12), %rax
popq %r12
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.size f, .-f
