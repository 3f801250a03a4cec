// Code that nobody calls marks the outermost frame by a zero in its frame pointer: its rows are for another entry.
//
// case: it never comes back
//
// | it: every row is right but those of 1 function for another entry than a call; all 5 instructions were executed.
// | note `movq (%rsp), %rdi`, at -1, 2: `xorl %ebp, %ebp`
// | f+0x2 (movq (%rsp), %rdi): the row says %rbp is still in %rbp, and it is zero, which marks the outermost frame: nobody calls this code (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, some came back
// | dropped 4: a jump to where no code is
// case: it does
// -  andq $-16, %rsp
// -  call init
// +  ret
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `movq (%rsp), %rdi`, at -1, 2: `xorl %ebp, %ebp`; f < caller < no code (a word that lies elsewhere)
// | f+0x2 (movq (%rsp), %rdi): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbp is still in %rbp, the caller's %rbp is in no one place at all 3 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 4, 4 executed, some came back

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
