// A save that is given back before one return is told again for the code behind it, and not at the push again.
//
// case: nothing is said of the push
// - .cfi_adjust_cfa_offset 8
// - .cfi_offset %r12, -16
// - movq %rdi, %r12
// + movq %rdi, %r12
// - .cfi_remember_state
// - .cfi_adjust_cfa_offset -8
// - .cfi_restore %r12
// - ret
// - .cfi_restore_state
// + ret
// - .cfi_def_cfa_offset 8
// | it: 1 of 1 function has a wrong row; all 10 instructions were executed.
// | error `movq %rdi, %r12`, at -1, 1: `pushq %r12`; f < no code (the caller's %r12); tried: it makes 5 instructions right and none wrong
// | f+0x2 (movq %rdi, %r12): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %r12, -16` behind line 5, and `.cfi_def_cfa_offset 8` and `.cfi_restore %r12` behind line 10 (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | error `1: leaq 5(%r12), %rax`, at -1, 1: `ret`; f < no code (the caller's %r12); tried: it makes 2 instructions right and none wrong
// | f+0x11 (leaq 5(%r12), %rax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here; the row says %r12 is still in %r12, the caller's %r12 is at CFA-16: add `.cfi_def_cfa_offset 16` and `.cfi_offset %r12, -16` behind line 11, and `.cfi_def_cfa_offset 8` and `.cfi_restore %r12` behind line 13 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 10, 7 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 10 instructions were executed.

.text
.globl f
.type f, @function
f: .cfi_startproc
pushq %r12
.cfi_adjust_cfa_offset 8
.cfi_offset %r12, -16
movq %rdi, %r12
testq %rsi, %rsi
je 1f
leaq (%r12,%r12), %rax
popq %r12
.cfi_remember_state
.cfi_adjust_cfa_offset -8
.cfi_restore %r12
ret
.cfi_restore_state
1: leaq 5(%r12), %rax
popq %r12
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.size f, .-f
