// What the table says too early is meant of code on another stack, which nobody tried: there it stays as it is.
//
// case: a whole frame
// | it: 1 of 1 function has a wrong row; 7 of 12 instructions were executed (58.3 %), 5 undecided, in f.
// | error `nop`, at -2, 2: `.cfi_def_cfa %rbp, 16`; f < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x13 (nop): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+8 here; the row says %rbp is at CFA-16, %rbp still has the caller's value: move `.cfi_def_cfa %rbp, 16` and `.cfi_offset %rbp, -16` from lines 11 and 12 behind line 14 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 12, 7 executed, 5 never, some came back
// | dropped 3: SP leaves the stack
// | as is advised: it: 1 of 1 function has a wrong row; 7 of 12 instructions were executed (58.3 %), 1 only read, 4 undecided, in f.
// case: the register of the CFA
// -  subq $24, %rdi
// -  movq (%rsp), %rax
// -  movq %rax, 16(%rdi)
// -  movq %rbp, 8(%rdi)
// -  movq %rsp, (%rdi)
// -  .cfi_def_cfa %rbp, 16
// -  .cfi_offset %rbp, -16
// -  nop
// -  movq %rdi, %rsp
// -  leaq 8(%rsp), %rbp
// +  pushq %rbp
// +  .cfi_def_cfa_offset 16
// +  .cfi_offset %rbp, -16
// +  .cfi_def_cfa_register %rbp
// +  nop
// +  movq %rsp, %rbp
// +  movq %rdi, %rsp
// | it: 1 of 1 function has a wrong row; 4 of 8 instructions were executed (50.0 %), 4 undecided, in f.
// | error `nop`, at -1, 2: `.cfi_def_cfa_register %rbp`; f < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x1 (nop): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+16 here: move `.cfi_def_cfa_register %rbp` from line 9 behind line 11 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 8, 4 executed, 4 never, some came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 1: SP leaves the stack
// | dropped 2: a jump to where no code is
// | as is advised: it: every row that was executed is right; 4 of 8 instructions were executed (50.0 %), 4 undecided, in f.
// case: another slot than the one that is written
// -  .cfi_def_cfa %rbp, 16
// -  .cfi_offset %rbp, -16
// -  nop
// +  .cfi_offset %rbx, -16
// +  pushq %rbp
// +  .cfi_def_cfa_offset 16
// +  pushq %rbx
// +  .cfi_def_cfa_offset 24
// | it: 1 of 1 function has a wrong row; 8 of 13 instructions were executed (61.5 %), 5 undecided, in f.
// | warning `pushq %rbp`, at -2, 2: `movq %rsp, (%rdi)`; f < caller (%rbx wrong) < main
// | f+0x13 (pushq %rbp): %rbx is shown wrong in the caller: the row says %rbx is at CFA-16, %rbx still has the caller's value; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 13, 8 executed, 5 never, some came back
// | dropped 3: SP leaves the stack

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 subq $24, %rdi
 movq (%rsp), %rax
 movq %rax, 16(%rdi)
 movq %rbp, 8(%rdi)
 movq %rsp, (%rdi)
 .cfi_def_cfa %rbp, 16
 .cfi_offset %rbp, -16
 nop
 movq %rdi, %rsp
 leaq 8(%rsp), %rbp
 call *%rsi
 movq 8(%rsp), %rbp
 movq (%rsp), %rsp
 .cfi_def_cfa %rsp, 8
 .cfi_restore %rbp
 ret
 .cfi_endproc
 .size f, . - f
