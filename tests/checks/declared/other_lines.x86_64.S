// A source that says of its lines that they are another's, which nobody can read: no patch is made of them.
//
// case: a push is not told
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `movq %rsi, %rax`, no place; f < no code (the word at CFA-0x10); tried: it makes 2 instructions right and none wrong
// | f+0x1 (mov rax, rsi): the caller is lost: the row says CFA = rsp+0x8, the true CFA is rsp+0x10 here: add `.cfi_def_cfa_offset 0x10` before `mov rax, rsi`; no patch is given: its lines are said to be of generated.S, and no assembly can be read there (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 4, 4 executed, all came back
// | as is advised: it: 1 of 1 function has a wrong row; all 4 instructions were executed.

#line 2 "generated.S"
 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 pushq %rdi
 movq %rsi, %rax
 popq %rdi
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
 .size f, . - f
