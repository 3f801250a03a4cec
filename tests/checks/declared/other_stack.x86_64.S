// Nothing is known of a stack that SP is switched to: what is only read is not wrong there, but where a jump shows it.
//
// case: a frame is made there
// | it: 1 of 1 function has a wrong row; 1 of 13 instructions were executed (7.7 %), 7 only read, 5 undecided, in f.
// | error `nop`, at -2, 2: `hlt`; f < no code (a word that lies elsewhere); tried: it makes 3 instructions right and none wrong
// | f+0x16 (nop): the caller is lost: the row says CFA = %rbp+16, the true CFA is %rsp+8 here: add `.cfi_def_cfa %rsp, 8` behind line 17 (.eh_frame; only read: it follows from the instructions before it; 2 more instructions by the same cause)
// | f: 13, 1 executed, 7 static, 5 never, some came back
// | as is advised: it: every row that was executed is right; 1 of 13 instructions were executed (7.7 %), 12 undecided, in f.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 rdpmc
 testq %rsi, %rsi
 je 2f
 movq (%rdi), %r8
 movq %r8, %rsp
 pushq $0
 pushq %rcx
 .cfi_def_cfa_offset 16
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 call *%rdx
 hlt
2:
 nop
 call *%rdx
 ret
 .cfi_endproc
 .size f, . - f
