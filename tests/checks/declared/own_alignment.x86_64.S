// Who aligns SP to what the ABI gives does not count on that: behind it SP has no fixed distance from the CFA.
//
// case: right
//
// | it: every row is right; all 7 instructions were executed.
// | f: 7, 7 executed, all came back
// case: the CFA stays with SP
// -  .cfi_def_cfa_register %rbp
// | it: 1 of 1 function has a wrong row; 6 of 7 instructions were executed (85.7 %), 1 undecided, in f.
// | error `call *%rdi`, at -3, 2: `movq %rsp, %rbp`; f < no code (the word at CFA-40); tried: it makes 2 instructions right and none wrong
// | f+0xc (call *%rdi): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rbp+16 here: add `.cfi_def_cfa_register %rbp` behind line 9 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 6 executed, 1 never, all came back
// | note: 1 instruction is undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row is right; all 7 instructions were executed.

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
 andq $-16, %rsp
 subq $32, %rsp
 call *%rdi
 leave
 .cfi_def_cfa %rsp, 8
 ret
 .cfi_endproc
 .size f, . - f
