// What is tried of an advice is its text: assembled among the directives that stand there, in the words of the source.
//
// case: every row is right
// | it: every row is right; all 39 instructions were executed.
// | f: 15, 13 executed, 2 forced, all came back
// | g: 6, 6 executed, all came back
// | h: 18, 16 executed, 2 forced, all came back
// case: a return that is none, in a function whose returns are told nowhere
// -  leal 1(%rbx,%rbp), %eax
// +  leal 1(%rbx,%rbp), %eax
// +  .cfi_restore %rbp
// | it: 2 of 3 functions have a wrong row; all 39 instructions were executed.
// | error `testl %eax, %eax`, at -1, 2: `.cfi_restore %rbp`; f < caller < no code (a word that lies elsewhere); tried: it makes 8 instructions right and none wrong
// | f+0xe (testl %eax, %eax): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbp is still in %rbp, the caller's %rbp is at CFA-0x10: take out `.cfi_restore %rbp` in line 17 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | error `jmp .Lwork`, at -3, 2: `.cfi_restore_state`; g < caller < no code (a word that lies elsewhere); tried: it makes 1 instruction right and none wrong
// | g+0x10 (jmp .Lwork): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbp is still in %rbp, the caller's %rbp is at CFA-0x10: add `.cfi_offset %rbp, -16` behind line 49 (.eh_frame; seen when it was executed)
// | f: 15, 13 executed, 2 forced, all came back
// | g: 6, 6 executed, all came back
// | h: 18, 16 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 39 instructions were executed.
// case: an offset is missing behind what remembers the state
// -  .cfi_remember_state
// -  .cfi_def_cfa_offset 24
// +  .cfi_remember_state
// | it: 1 of 3 functions has a wrong row; all 39 instructions were executed.
// | error `popq %rbx`, at -1, 2: `.cfi_remember_state`; f < no code (the word at CFA+0x8); tried: it makes 1 instruction right and none wrong
// | f+0x17 (popq %rbx): the caller is lost: the row says CFA = %rsp+0x28, the true CFA is %rsp+0x18 here: add `.cfi_def_cfa_offset 24` behind line 22 (.eh_frame; seen when it was executed)
// | f: 15, 13 executed, 2 forced, all came back
// | g: 6, 6 executed, all came back
// | h: 18, 16 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 39 instructions were executed.
// case: a prologue behind the frame, with the frame's rows
// -  .cfi_remember_state // of g
// -  .cfi_def_cfa_offset 8
// -  .cfi_restore %rbx
// -  .cfi_restore %rbp
// +  // untold
// -  .cfi_def_cfa_offset 16 // rbp of g
// -  .cfi_offset %rbp, -16
// +  // untold
// -  .cfi_def_cfa_offset 24 // rbx of g
// -  .cfi_offset %rbx, -24
// +  // untold
// -  .cfi_restore_state // of g
// | it: 1 of 3 functions has a wrong row; all 39 instructions were executed.
// | error `pushq %rbp`, at -6, 2: `jmp .Lend`; g < no code (the word at CFA+0x18); tried: it makes 3 instructions right and none wrong
// | g (pushq %rbp): the caller is lost: the row says CFA = %rsp+0x28, the true CFA is %rsp+0x8 here; the row says %rbx is at CFA-0x18, %rbx still has the caller's value; the row says %rbp is at CFA-0x10, %rbp still has the caller's value: add `.cfi_def_cfa_offset 8`, `.cfi_restore %rbx` and `.cfi_restore %rbp` behind line 32, `.cfi_def_cfa_offset 16` and `.cfi_offset %rbp, -16` behind line 38, `.cfi_def_cfa_offset 24` and `.cfi_offset %rbx, -24` behind line 40, and `.cfi_def_cfa_offset 40` behind line 42 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 15, 13 executed, 2 forced, all came back
// | g: 6, 6 executed, all came back
// | h: 18, 16 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 39 instructions were executed.
// case: the registers that expressions find are back, of which no row tells
// -  .cfi_restore %rbx // of h
// -  .cfi_restore %rbp
// | it: 1 of 3 functions has a wrong row; all 39 instructions were executed.
// | error `leaq -8(%r10), %rsp`, at -1, 2: `popq %rbp`; h < caller < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | h+0x21 (leaq -8(%r10), %rsp): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbx is what an expression computes, %rbx still has the caller's value; the row says %rbp is what an expression computes, %rbp still has the caller's value: add `.cfi_restore %rbx` and `.cfi_restore %rbp` behind line 78 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 15, 13 executed, 2 forced, all came back
// | g: 6, 6 executed, all came back
// | h: 18, 16 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 39 instructions were executed.

 .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 pushq %rbx
 .cfi_def_cfa_offset 24
 .cfi_offset %rbx, -24
 subq $16, %rsp
 .cfi_def_cfa_offset 40
 movl %edi, %ebp
 movl %esi, %ebx
.Lwork:
 leal 1(%rbx,%rbp), %eax
 testl %eax, %eax
 je .Lzero
 nop
.Lend:
 addq $16, %rsp
 .cfi_remember_state
 .cfi_def_cfa_offset 24
 popq %rbx
 .cfi_def_cfa_offset 16
 popq %rbp
 .cfi_def_cfa_offset 8
 ret
.Lzero:
 .cfi_restore_state
 movl $1, %eax
 jmp .Lend
 .size f, . - f
 .globl g
 .type g, @function
g:
 .cfi_remember_state // of g
 .cfi_def_cfa_offset 8
 .cfi_restore %rbx
 .cfi_restore %rbp
 pushq %rbp
 .cfi_def_cfa_offset 16 // rbp of g
 .cfi_offset %rbp, -16
 pushq %rbx
 .cfi_def_cfa_offset 24 // rbx of g
 .cfi_offset %rbx, -24
 subq $16, %rsp
 .cfi_restore_state // of g
 movl $5, %ebx
 movl $7, %ebp
 jmp .Lwork
 .cfi_endproc
 .size g, . - g

 .globl h
 .type h, @function
h: .cfi_startproc
 leaq 8(%rsp), %r10
 .cfi_def_cfa %r10, 0
 andq $-32, %rsp
 pushq -8(%r10)
 pushq %rbp
 movq %rsp, %rbp
 .cfi_escape 0x10, 6, 2, 0x76, 0 // rbp at rbp
 pushq %r10
 .cfi_escape 0x0f, 3, 0x76, 0x78, 6 // the CFA is the word at rbp-8
 pushq %rbx
 .cfi_escape 0x10, 3, 2, 0x76, 0x70 // rbx at rbp-16
 movl %edi, %ebx
 testl %edi, %edi
 je .Lnothing
 leal 1(%rbx), %eax
.Lback:
 popq %rbx
 popq %r10
 .cfi_remember_state
 .cfi_def_cfa %r10, 0
 popq %rbp
 .cfi_restore %rbx // of h
 .cfi_restore %rbp
 leaq -8(%r10), %rsp
 .cfi_def_cfa %rsp, 8
 ret
.Lnothing:
 .cfi_restore_state
 xorl %eax, %eax
 jmp .Lback
 .cfi_endproc
 .size h, . - h
