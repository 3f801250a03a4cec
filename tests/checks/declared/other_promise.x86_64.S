// A function jumps to one of another convention, which promises less: what the row there says of a register by itself is
// by its own function's.
//
// case: OCaml's code promises no register
// | it: every row is right; all 6 instructions were executed.
// | f: 1, 1 executed, some came back
// | camlIt__goes_on_1: 5, 5 executed, all came back
// case: a function of the same convention
// -  jmp camlIt__goes_on_1
// +  jmp goes_on
// - camlIt__goes_on_1:
// + goes_on:
// | it: 1 of 2 functions has a wrong row; all 6 instructions were executed.
// | warning `leaq 1(%r12), %rax`, at -1, 2: `xorl %r12d, %r12d`; goes_on < caller (%r12 wrong) < main
// | goes_on+0x7 (leaq 1(%r12), %rax): %r12 is shown wrong in the caller: the row says %r12 is still in %r12, the caller's %r12 is in no one place at all 6 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 1, 1 executed, some came back
// | goes_on: 5, 5 executed, some came back

 .text
 .globl f
 .type f, @function
f:
 .cfi_startproc
 jmp camlIt__goes_on_1
 .cfi_endproc
 .size f, . - f

 .globl camlIt__goes_on_1, goes_on
camlIt__goes_on_1:
 .cfi_startproc
 subq $8, %rsp
 .cfi_adjust_cfa_offset 8
 xorl %r12d, %r12d
 leaq 1(%r12), %rax
 addq $8, %rsp
 .cfi_adjust_cfa_offset -8
 ret
 .cfi_endproc
