// A save in a frame that is aligned: no constant says how far its slot is from the CFA, and the save is not taken back.
//
// case: a slot that counts from the wrong register
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | warning `testb $1, %dil`, at -2, 2: `movq %rbx, 8(%rsp)`; f < caller (%rbx wrong) < main
// | f+0x11 (testb $1, %dil): %rbx is shown wrong in the caller: the row says %rbx is at CFA-8, %rbx still has the caller's value; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 15, 13 executed, 2 forced, all came back
// case: the save is not told, and the register changes on a forced path of one plan only
// -  .cfi_rel_offset %rbx, 8
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | warning `addl %edi, %ebx`, at -1, 2: `xorl %ebx, %ebx`; f < caller (%rbx wrong) < main
// | f+0x20 (addl %edi, %ebx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is in no one place at all 2 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 15, 13 executed, 2 forced, all came back
// | note: .eh_frame: 1 instruction counts as right, though wrong on a forced path: f+0x22 (control was turned at f+0x1c)
// case: it is told where it is not yet
// -  movq %rbx, 8(%rsp)
// -  .cfi_rel_offset %rbx, 8
// +  .cfi_rel_offset %rbx, 8
// +  movq %rbx, 8(%rsp)
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | warning `movq %rbx, 8(%rsp)`, at -2, 2: `andq $-64, %rsp`; f < caller (%rbx wrong) < main
// | f+0xc (movq %rbx, 8(%rsp)): %rbx is shown wrong in the caller: the row says %rbx is at CFA-8, %rbx still has the caller's value; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | f: 15, 13 executed, 2 forced, all came back

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 pushq %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 subq $64, %rsp
 andq $-64, %rsp
 movq %rbx, 8(%rsp)
 .cfi_rel_offset %rbx, 8
 testb $1, %dil
 jne 1f
 nop
1: cmpq $77, %rdi
 jne 2f
 xorl %ebx, %ebx
 addl %edi, %ebx
2: movq 8(%rsp), %rbx
 .cfi_restore %rbx
 leave
 .cfi_def_cfa %rsp, 8
 .cfi_restore %rbp
 ret
 .cfi_endproc
 .size f, . - f
