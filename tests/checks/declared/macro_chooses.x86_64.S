// What a macro chooses by `.if` and repeats by `.irp` and `.rept` is followed, and its correction has its parameters.
//
// case: as it is
// | it: every row is right; all 20 instructions were executed.
// | f: 5, 5 executed, all came back
// | g: 5, 5 executed, all came back
// | h: 10, 10 executed, all came back
// case: what is made is not told, before a choice
// -  .cfi_adjust_cfa_offset \size
// | it: 2 of 3 functions have a wrong row; all 20 instructions were executed.
// | error `make 24`, at +0, 2: `make 24` in make, -29; f < no code (the word at CFA-32); tried: assembled with it and run again, its 2 uses are right, and nothing else is wrong by it
// | f+0x4 (xorl %eax, %eax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+32 here: add `.cfi_adjust_cfa_offset \size` behind line 2 (in make, used in lines 31 and 40) (.eh_frame; seen when it was executed; 7 more instructions in 1 more function by the same cause)
// | f: 5, 5 executed, all came back
// | g: 5, 5 executed, all came back
// | h: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.
// case: one number stands for all uses
// -  .cfi_adjust_cfa_offset -\size
// +  .cfi_adjust_cfa_offset -24
// | it: 1 of 3 functions has a wrong row; all 20 instructions were executed.
// | error `ret`, at -1, 2: `take_back 40` in take_back, -31; g < no code (the word at CFA+8); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | g+0xc (ret): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+8 here: write `.cfi_adjust_cfa_offset -\size` for `.cfi_adjust_cfa_offset -24` in line 12 (in take_back, used in line 43) (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | g: 5, 5 executed, all came back
// | h: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.
// case: what is repeated does not tell of the saves
// -  .cfi_rel_offset %\each, 0
// | it: 1 of 3 functions has a wrong row; all 20 instructions were executed.
// | warning `xorl %r12d, %r12d`, at -2, 2: `save rbx, r12` in save, -32; h < caller (%rbx and %r12 wrong) < main; tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | h+0x6 (xorl %r12d, %r12d): %rbx and %r12 are shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_rel_offset %\each, 0` behind line 17 (in save, used in line 49) (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | g: 5, 5 executed, all came back
// | h: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.
// case: what is repeated a number of times moves too far
// -  .cfi_adjust_cfa_offset -8
// -  .endr
// +  .cfi_adjust_cfa_offset -16
// +  .endr
// | it: 1 of 3 functions has a wrong row; all 20 instructions were executed.
// | error `drop 2`, at +0, 2: `drop 2` in drop, -34; h < no code (the caller's %rbx); tried: assembled with it and run again, its use is right, and nothing else is wrong by it
// | h+0x17 (popq %rcx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: write `.cfi_adjust_cfa_offset -8` for `.cfi_adjust_cfa_offset -16` in line 24 (in drop, used in line 58) (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | g: 5, 5 executed, all came back
// | h: 10, 10 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.

 .macro make size, aligned=0
 subq $\size, %rsp
 .cfi_adjust_cfa_offset \size
 .if \aligned
 nop
 .else
 xorl %eax, %eax
 .endif
 .endm
 .macro take_back size
 addq $\size, %rsp
 .cfi_adjust_cfa_offset -\size
 .endm
 .macro save which:vararg
 .irp each, \which
 pushq %\each
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %\each, 0
 .endr
 .endm
 .macro drop number
 .rept \number
 popq %rcx
 .cfi_adjust_cfa_offset -8
 .endr
 .endm

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 make 24
 movq %rdi, %rax
 take_back 24
 ret
 .cfi_endproc
 .size f, .-f
 .globl g
 .type g, @function
g: .cfi_startproc
 make 40, aligned=1
 movq %rdi, %rax
 take_back 40
 ret
 .cfi_endproc
 .size g, .-g
 .globl h
 .type h, @function
h: .cfi_startproc
 save rbx, r12
 movq %rdi, %rbx
 xorl %r12d, %r12d
 leaq (%rbx,%r12), %rax
 movq (%rsp), %r12
 .cfi_restore %r12
 movq 8(%rsp), %rbx
 .cfi_restore %rbx
 drop 2
 ret
 .cfi_endproc
 .size h, .-h
