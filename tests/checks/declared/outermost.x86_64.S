// Code that nobody calls marks the outermost frame by a zero in its frame pointer: its rows are for another entry.
//
// case: it never comes back
//
// | it: every row is right but those of 1 function for another entry than a call; all 5 instructions were executed.
// | note `movq (%rsp), %rdi`, at -1, 2: `xorl %ebp, %ebp`
// | f+0x2 (movq (%rsp), %rdi): the row says %rbp is still in %rbp, and it is zero, which marks the outermost frame: nobody calls this code (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, some came back
// | dropped 3: a jump to where no code is
// | dropped 1: came back with another SP, or with callee-saved registers lost
// case: it does
// -  call init
// +  ret
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `movq (%rsp), %rdi`, at -1, 2: `xorl %ebp, %ebp`; f < caller < no code (a word that lies elsewhere)
// | f+0x2 (movq (%rsp), %rdi): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbp is still in %rbp, the caller's %rbp is in no one place at all 4 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | error `ret`, at -1, 2: `andq $-16, %rsp`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0xf (ret): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 at the first visit, and at no fixed distance: add `.cfi_def_cfa %rsi, 0` behind line 9 (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, some came back
// | dropped 3: a jump to where no code is
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | as is advised: it: 1 of 1 function has a wrong row; all 5 instructions were executed.

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 xorl %ebp, %ebp
 movq (%rsp), %rdi
 leaq 8(%rsp), %rsi
 andq $-16, %rsp
 call init
 .cfi_endproc
 .size f, . - f
