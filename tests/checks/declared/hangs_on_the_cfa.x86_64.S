// Where no directive makes the CFA right, no slot is advised that would count from it: what is wrong is one thing.
//
// case: an aligned frame without any directive
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `subq $64, %rsp`, at -2, 2: `movq %rsp, %rax`; f < no code (the word at CFA-24); tried: it makes 3 instructions right and none wrong
// | f+0x8 (subq $64, %rsp): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+32 at the first visit, and at no fixed distance: add `.cfi_def_cfa_register %rax` behind line 8, and `.cfi_def_cfa_register %rsp` behind line 15 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `movl %edi, %ebx`, at -1, 2: `xorl %eax, %eax`; f < no code (the word at CFA-88)
// | f+0x13 (movl %edi, %ebx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+96 at the first visit, and at no fixed distance; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 12 instructions were executed.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 16
 movq %rsp, %rax
 andq $-32, %rsp
 subq $64, %rsp
 movq %rax, 8(%rsp)
 xorl %eax, %eax
 movl %edi, %ebx
 leaq 1(%rbx), %rcx
 movq 8(%rsp), %rsp
 movq %rcx, %rax
 popq %rbx
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
 .size f, . - f
