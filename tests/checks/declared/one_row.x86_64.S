// One row for a whole function, as its body needs it: what is advised further up changes the state that is restored.
//
// case: as it stands
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `pushq %rbp`, at -2, 2: `.cfi_def_cfa_register %rbp`; f < no code (a word that lies elsewhere); tried: it makes 3 instructions right and none wrong
// | f (pushq %rbp): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+8 here; the row says %rbx is at CFA-24, %rbx still has the caller's value; the row says %rbp is at CFA-16, %rbp still has the caller's value: take out `.cfi_offset %rbp, -16` in line 7, write `.cfi_def_cfa %rsp, 8` for `.cfi_def_cfa_register %rbp` in line 8, take out `.cfi_offset %rbx, -24` in line 9, add `.cfi_offset %rbp, -16` behind line 10, `.cfi_def_cfa %rbp, 16` behind line 11, and `.cfi_offset %rbx, -24` behind line 12 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `movq %rsp, %rbp`, at -1, 2: `pushq %rbp`; f < no code (a word that lies elsewhere); tried: it makes 1 instruction right and none wrong
// | f+0x1 (movq %rsp, %rbp): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` behind line 10: together with what is advised above (.eh_frame; seen when it was executed)
// | error `ret`, at -1, 2: `leave`; f < no code (a word that lies elsewhere)
// | f+0x12 (ret): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+8 here; the row says %rbp is at CFA-16, %rbp still has the caller's value; no correction is given: directives were found, but written into the source they do not give right rows (.eh_frame; seen when it was executed)
// | f: 9, 9 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 9 instructions were executed.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 .cfi_def_cfa_register %rbp
 .cfi_offset %rbx, -24
 pushq %rbp
 movq %rsp, %rbp
 pushq %rbx
 movq %rdi, %rbx
 call *%rsi
 addq %rbx, %rax
 movq -8(%rbp), %rbx
 leave
 ret
 .cfi_endproc
 .size f, . - f
