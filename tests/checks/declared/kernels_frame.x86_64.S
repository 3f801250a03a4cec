// A frame that the kernel makes is nobody's call; a function of which the table says so is called all the same.
//
// case: rows as of a function
// -  .cfi_def_cfa %rsp, 168
// -  .cfi_offset %rip, 0
//
// | it: every row is right; all 4 instructions were executed.
// | g: 1, 1 executed, all came back
// | f: 3, 3 executed, all came back
// case: the kernel's
// | it: every row that was executed is right; 1 of 4 instructions were executed (25.0 %), 3 undecided, in f.
// | g: 1, 1 executed, all came back
// | not called: f: 3, 3 never
// | note: not called, 1 place of code (f): what stands there is no function that someone calls

 .text
 .globl g
 .type g, @function
g:
 .cfi_startproc
 ret
 .cfi_endproc
 .size g, . - g
 .globl f
 .type f, @function
f:
 .cfi_startproc
 .cfi_signal_frame
 .cfi_def_cfa %rsp, 168
 .cfi_offset %rip, 0
 movl $15, %eax
 syscall
 ret
 .cfi_endproc
 .size f, . - f
