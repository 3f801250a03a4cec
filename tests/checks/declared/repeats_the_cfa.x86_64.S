// Behind a forgotten save stands a directive that says the CFA again: it ends nothing that is said of a register.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | warning `addl %edi, %ebx`, at -2, 2: `movq %rbx, 8(%rsp)`; f < caller (%rbx wrong) < main; tried: it makes 2 instructions right and none wrong
// | f+0xb (addl %edi, %ebx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-24: add `.cfi_offset %rbx, -24` behind line 8, and `.cfi_restore %rbx` behind line 13 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 subq $24, %rsp
 .cfi_def_cfa_offset 32
 movq %rbx, 8(%rsp)
 xorl %ebx, %ebx
 addl %edi, %ebx
 movq 8(%rsp), %rbx
 movq %rdi, 8(%rsp)
 .cfi_def_cfa_offset 32
 nop
 addq $24, %rsp
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
 .size f, . - f
