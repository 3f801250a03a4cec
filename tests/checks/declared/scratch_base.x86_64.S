// A CFA may count from a register that a callee leaves alone by a contract of their own: on a forced path the callee is
// answered, and that proves nothing.
// ! {"runs": 40, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 8 of 11 instructions were executed (72.7 %), 3 undecided, in f.
// | helper: 2, 2 executed, all came back
// | f: 9, 6 executed, 3 never, all came back
// | note: 3 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: wrong all the same
// - leaq (%rsp), %rax
// + leaq 8(%rsp), %rax
// | it: 1 of 2 functions has a wrong row; 8 of 11 instructions were executed (72.7 %), 3 undecided, in f.
// | error `subq $24, %rsp`, at -1, 1: `.cfi_def_cfa %rax, 8`; f < no code (the word at CFA+0); tried: it makes 4 instructions right and none wrong
// | f+0x5 (subq $24, %rsp): the caller is lost: the row says CFA = %rax+8, the true CFA is %rsp+8 here: write `.cfi_def_cfa %rax, 0` for `.cfi_def_cfa %rax, 8` in line 13 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | helper: 2, 2 executed, all came back
// | f: 9, 6 executed, 3 never, all came back
// | note: 3 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row that was executed is right; 8 of 11 instructions were executed (72.7 %), 3 undecided, in f.

.text
.type helper, @function
helper: .cfi_startproc
movq %rdi, %rdx
ret
.cfi_endproc
.size helper, . - helper

.globl f
.type f, @function
f: .cfi_startproc
leaq (%rsp), %rax
.cfi_def_cfa %rax, 8
subq $24, %rsp
cmpq $0x12345678, %rdi
jne 1f
call helper
movq %rdx, %rcx
nop
1: addq $24, %rsp
.cfi_def_cfa %rsp, 8
ret
.cfi_endproc
.size f, . - f
