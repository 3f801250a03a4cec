// `.cfi_startproc simple` begins without a CFA, so offsets are of nothing, and no row comes of them.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has code without a row; all 4 instructions were executed; 4 have no row.
// | error `push %rbp`, at -1, 1: `.cfi_startproc simple`; f < nothing more; tried: it makes 2 of 4 instructions right; what the others need as well, testbed annotate writes
// | f (push %rbp): the caller is lost: no row covers this instruction, and its function is called: write `.cfi_startproc` for `.cfi_startproc simple` in line 5 (tried: it makes 2 of 4 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 4, 4 executed, 4 without row, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.
// case: the author says the CFA himself
// - .cfi_startproc simple
// + .cfi_startproc simple
// + .cfi_def_cfa %rsp, 8
// + .cfi_offset %rip, -8
// | it: every row is right; all 4 instructions were executed.
// | f: 4, 4 executed, all came back
// case: he says a wrong one
// - .cfi_startproc simple
// + .cfi_startproc simple
// + .cfi_def_cfa %rsp, 16
// + .cfi_offset %rip, -8
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `push %rbp`, at -2, 1: `.cfi_def_cfa %rsp, 16`; f < no code (the word at CFA+0); tried: it makes 4 instructions right and none wrong
// | f (push %rbp): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: write `.cfi_def_cfa %rsp, 8` for `.cfi_def_cfa %rsp, 16` in line 6 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

.text
.globl f
.type f, @function
f:
.cfi_startproc simple
push %rbp
.cfi_adjust_cfa_offset 8
.cfi_rel_offset %rbp, 0
call elsewhere
pop %rbp
.cfi_adjust_cfa_offset -8
.cfi_restore %rbp
ret
.cfi_endproc
.size f, .-f
