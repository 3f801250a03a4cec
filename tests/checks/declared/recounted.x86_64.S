// What is advised where later directives count from it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 9, 9 executed, all came back
// case: both of a pair
// -  .cfi_adjust_cfa_offset 32
// +  .cfi_adjust_cfa_offset 24
// -  .cfi_adjust_cfa_offset -32
// +  .cfi_adjust_cfa_offset -24
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `movl %ebx, (%rsp)`, at -1, 2: `.cfi_adjust_cfa_offset 24`; f < no code (the caller's %rbx); tried: it makes 4 instructions right and none wrong
// | f+0x7 (movl %ebx, (%rsp)): the caller is lost: the row says CFA = %rsp+40, the true CFA is %rsp+48 here: write `.cfi_adjust_cfa_offset 32` for `.cfi_adjust_cfa_offset 24` in line 10, and `.cfi_adjust_cfa_offset -32` for `.cfi_adjust_cfa_offset -24` in line 15 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: an absolute one before
// -  .cfi_adjust_cfa_offset 32
// +  .cfi_def_cfa_offset 40
// -  .cfi_adjust_cfa_offset -32
// +  .cfi_adjust_cfa_offset -24
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `movl %ebx, (%rsp)`, at -1, 2: `.cfi_def_cfa_offset 40`; f < no code (the caller's %rbx); tried: it makes 4 instructions right and none wrong
// | f+0x7 (movl %ebx, (%rsp)): the caller is lost: the row says CFA = %rsp+40, the true CFA is %rsp+48 here: write `.cfi_def_cfa_offset 48` for `.cfi_def_cfa_offset 40` in line 10, and `.cfi_adjust_cfa_offset -32` for `.cfi_adjust_cfa_offset -24` in line 15 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: an absolute one behind
// -  .cfi_adjust_cfa_offset 32
// +  .cfi_adjust_cfa_offset 24
// -  .cfi_adjust_cfa_offset -32
// +  .cfi_def_cfa_offset 16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `movl %ebx, (%rsp)`, at -1, 2: `.cfi_adjust_cfa_offset 24`; f < no code (the caller's %rbx); tried: it makes 4 instructions right and none wrong
// | f+0x7 (movl %ebx, (%rsp)): the caller is lost: the row says CFA = %rsp+40, the true CFA is %rsp+48 here: write `.cfi_adjust_cfa_offset 32` for `.cfi_adjust_cfa_offset 24` in line 10 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 .cfi_offset %rbx, -16
 movl %edi, %ebx
 subq $32, %rsp
 .cfi_adjust_cfa_offset 32
 movl %ebx, (%rsp)
 movl (%rsp), %eax
 addl %ebx, %eax
 addq $32, %rsp
 .cfi_adjust_cfa_offset -32
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
