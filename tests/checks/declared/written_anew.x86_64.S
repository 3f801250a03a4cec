// A wrong directive that stands in the source is to be written anew, and nothing is advised that stands there
// already.
// ! {"runs": 50, "steps": 200}
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, all came back
// case: a slot
// -  .cfi_offset %r12, -24
// +  .cfi_offset %r12, -16
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `pushq %rbp`, at -1, 2: `.cfi_offset %r12, -16`; f < caller (%r12 wrong) < main; tried: it makes 8 instructions right and none wrong
// | f+0x3 (pushq %rbp): %r12 is shown wrong in the caller: the row says %r12 is at CFA-16, %r12 still has the caller's value: write `.cfi_offset %r12, -24` for `.cfi_offset %r12, -16` in line 10 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: another slot
// -  .cfi_offset %rbp, -32
// +  .cfi_offset %rbp, -24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %rsp, %rbp`, at -1, 2: `.cfi_offset %rbp, -24`; f < caller < no code (a word that lies elsewhere); tried: it makes 6 instructions right and none wrong
// | f+0x4 (movq %rsp, %rbp): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbp is at CFA-24, %rbp still has the caller's value: write `.cfi_offset %rbp, -32` for `.cfi_offset %rbp, -24` in line 13 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: an offset
// -  .cfi_def_cfa_offset 32
// +  .cfi_def_cfa_offset 40
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %rsp, %rbp`, at -2, 2: `.cfi_def_cfa_offset 40`; f < no code (the word at CFA+0); tried: it makes 6 instructions right and none wrong
// | f+0x4 (movq %rsp, %rbp): the caller is lost: the row says CFA = %rsp+40, the true CFA is %rsp+32 here: write `.cfi_def_cfa_offset 32` for `.cfi_def_cfa_offset 40` in line 12 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a whole CFA
// -  .cfi_def_cfa %rsp, 24
// +  .cfi_def_cfa %rsp, 32
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `popq %r12`, at -2, 2: `.cfi_def_cfa %rsp, 32`; f < no code (the word at CFA+0); tried: it makes 3 instructions right and none wrong
// | f+0x16 (popq %r12): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+24 here: write `.cfi_def_cfa %rsp, 24` for `.cfi_def_cfa %rsp, 32` in line 21 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a register
// -  .cfi_def_cfa_register %rbp
// +  .cfi_def_cfa_register %rsp
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movl %edi, %ebx`, at -2, 2: `.cfi_def_cfa_register %rsp`; f < no code (the word at CFA-40); tried: it makes 3 instructions right and none wrong
// | f+0xb (movl %edi, %ebx): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+64 here: write `.cfi_def_cfa_register %rbp` for `.cfi_def_cfa_register %rsp` in line 15 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: another register
// -  .cfi_offset %r12, -24
// +  .cfi_offset %r13, -24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `pushq %rbp`, at -1, 2: `.cfi_offset %r13, -24`; f < caller (%r12 and %r13 wrong) < main; tried: it makes 10 instructions right and none wrong
// | f+0x3 (pushq %rbp): %r12 and %r13 are shown wrong in the caller: the row says %r13 is at CFA-24, %r13 still has the caller's value: write `.cfi_offset %r12, -24` for `.cfi_offset %r13, -24` in line 10 (.eh_frame; seen when it was executed; 9 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a slot of what is not saved
// -  subq $32, %rsp
// +  subq $32, %rsp
// +  .cfi_offset %r15, -40
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `movl %edi, %ebx`, at -1, 2: `.cfi_offset %r15, -40`; f < caller (%r15 wrong) < main; tried: it makes 7 instructions right and none wrong
// | f+0xb (movl %edi, %ebx): %r15 is shown wrong in the caller: the row says %r15 is at CFA-40, %r15 still has the caller's value: take out `.cfi_offset %r15, -40` in line 17 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a register by a wrong number
// -  .cfi_offset %rbp, -32
// +  .cfi_offset 8, -32
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `movq %rsp, %rbp`, at -1, 2: `.cfi_offset 8, -32`; f < caller < no code (the caller's %r12); tried: it makes 9 instructions right and none wrong
// | f+0x4 (movq %rsp, %rbp): the caller, which counts from %rbp, is found, and who called it is lost: the row says %r8 is at CFA-32, %r8 still has the caller's value: write `.cfi_offset %rbp, -32` for `.cfi_offset 8, -32` in line 13 (.eh_frame; seen when it was executed; 8 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: a slot of what is never changed
// -  subq $32, %rsp
// +  subq $32, %rsp
// +  movq %r14, (%rsp)
// +  .cfi_offset %r14, -56
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | warning `movl %edi, %ebx`, at -1, 2: `.cfi_offset %r14, -56`; f < caller (%r14 wrong) < main; tried: it makes 7 instructions right and none wrong
// | f+0xf (movl %edi, %ebx): %r14 is shown wrong in the caller: the row says %r14 is at CFA-56, %r14 still has the caller's value: write `.cfi_offset %r14, -64` for `.cfi_offset %r14, -56` in line 18 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 13, 13 executed, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: a slot is not said
// -  .cfi_offset %r12, -24
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `addq $32, %rsp`, at -9, 2: `.cfi_adjust_cfa_offset 8`; f < caller (%r12 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x11 (addq $32, %rsp): %r12 is shown wrong in the caller: the row says %r12 is still in %r12, the caller's %r12 is at CFA-24: add `.cfi_offset %r12, -24` behind line 9 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: of two directives the last is written anew
// -  .cfi_def_cfa %rsp, 24
// +  .cfi_def_cfa %rsp, 24
// +  .cfi_def_cfa %rsp, 32
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `popq %r12`, at -2, 2: `.cfi_def_cfa %rsp, 32`; f < no code (the word at CFA+0); tried: it makes 3 instructions right and none wrong
// | f+0x16 (popq %r12): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+24 here: write `.cfi_def_cfa %rsp, 24` for `.cfi_def_cfa %rsp, 32` in line 22 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx # first
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbx, 0
 pushq %r12
 .cfi_adjust_cfa_offset 8 /* a word */
 .cfi_offset %r12, -24
 pushq %rbp
 .cfi_def_cfa_offset 32
 .cfi_offset %rbp, -32
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 subq $32, %rsp
 movl %edi, %ebx
 leal (%rbx,%rbx), %r12d
 addq $32, %rsp
 popq %rbp
 .cfi_def_cfa %rsp, 24
 .cfi_restore %rbp
 popq %r12
 .cfi_adjust_cfa_offset -8
 .cfi_restore %r12
 popq %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
