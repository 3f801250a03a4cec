// A local subroutine.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 6 instructions were executed.
// | f: 6, 6 executed, all came back
// case: a wrong offset
// -  .cfi_def_cfa_offset 16
// +  .cfi_def_cfa_offset 24
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `popq %rdi`, at -1, 2: `.cfi_def_cfa_offset 24`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0xc (popq %rdi): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: write `.cfi_def_cfa_offset 16` for `.cfi_def_cfa_offset 24` in line 9 (.eh_frame; seen when it was executed)
// | f: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.

.text
.globl f
.type f, @function
f: .cfi_startproc
 call 5f
 call 5f
 ret
5: pushq %rdi
 .cfi_def_cfa_offset 16
 popq %rdi
 .cfi_def_cfa_offset 8
 ret
.cfi_endproc
.size f, . - f
