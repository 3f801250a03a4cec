// Of a function that has rows a part has none: what begins like a function is told to get an entry of its own.
//
// case: helpers behind the last row
// | it: 1 of 1 function has code without a row; all 6 instructions were executed; 3 have no row.
// | error `addq $1, %rax`, at +0, 2: `addq $1, %rax`; f < nothing more; tried: it makes 3 instructions right and none wrong
// | f+0xb (addq $1, %rax): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 11, and `.cfi_endproc` behind line 13 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 6, 6 executed, 3 without row, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.
// case: they begin with a frame
// -  addq $1, %rax
// +  pushq %rbx
// +  addq $1, %rax
// +  popq %rbx
// | it: 1 of 1 function has code without a row; all 8 instructions were executed; 5 have no row.
// | error `pushq %rbx`, at +0, 2: `pushq %rbx`; f < nothing more; tried: it makes 3 of 5 instructions right; what the others need as well, testbed annotate writes
// | f+0xb (pushq %rbx): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 11, and `.cfi_endproc` behind line 15 (tried: it makes 3 of 5 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | f: 8, 8 executed, 5 without row, all came back
// | as is advised: it: 1 of 2 functions has a wrong row; all 8 instructions were executed.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 call 1f
 call 1f
 ret
 .cfi_endproc
1:
 addq $1, %rax
 addq %rdi, %rax
 ret
 .size f, . - f
