// A string in code, whose address a call makes.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right; 3 of 6 instructions were executed (50.0 %), 3 undecided, in f.
// | f: 6, 3 executed, 3 never, all came back
// case: a push that no row tells of
// -  .cfi_adjust_cfa_offset -8
// +  .cfi_adjust_cfa_offset -8
// +   pushq %rax
// +  popq %rax
// | it: 1 of 1 function has a wrong row; 5 of 8 instructions were executed (62.5 %), 3 undecided, in f.
// | error `popq %rax`, at -1, 3: `pushq %rax`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0x15 (popq %rax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset 8` behind line 10, and `.cfi_adjust_cfa_offset -8` behind line 11 (.eh_frame; seen when it was executed)
// | f: 8, 5 executed, 3 never, all came back
// | as is advised: it: every row that was executed is right; 5 of 8 instructions were executed (62.5 %), 3 undecided, in f.

.text
.globl f
.type f, @function
f: .cfi_startproc
 call 1f
 .cfi_adjust_cfa_offset 8
 .asciz "hello, inline"
1: popq %rax
 .cfi_adjust_cfa_offset -8
 ret
.cfi_endproc
.size f, . - f
