// Code that nobody calls marks the outermost frame by a zero in its frame pointer: its rows are for another entry.
//
// case: it never comes back
//
// case: it does
// -  andq $-16, %rsp
// -  call init
// +  ret

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
