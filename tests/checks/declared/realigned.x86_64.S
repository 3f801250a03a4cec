// A frame that GCC realigns: registers are saved at a distance from %rbp that no constant says from the CFA. Where an
// epilogue has popped them they are the caller's, those too that no run has changed; what stands behind its return is
// another way's.
//
// case: as GCC writes it
// | it: 1 of 1 function has a wrong row; all 25 instructions were executed.
// | error `leaq    -8(%r10), %rsp`, at -1, 9: `popq %rbp`; f < caller < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x28 (leaq -8(%r10), %rsp): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbx is what an expression computes, %rbx still has the caller's value; the row says %rbp is what an expression computes, %rbp still has the caller's value; the row says %r12 is what an expression computes, %r12 still has the caller's value: add `.cfi_restore %rbx`, `.cfi_restore %rbp` and `.cfi_restore %r12` behind line 27 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `leaq    -8(%r10), %rsp`, at -1, 9: `popq %rbp`; f < caller < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | f+0x36 (leaq -8(%r10), %rsp): the caller, which counts from %rbp, is found, and who called it is lost: the row says %rbx is what an expression computes, %rbx still has the caller's value; the row says %rbp is what an expression computes, %rbp still has the caller's value; the row says %r12 is what an expression computes, %r12 still has the caller's value: add `.cfi_restore %rbx`, `.cfi_restore %rbp` and `.cfi_restore %r12` behind line 37 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 25, 18 executed, 7 forced, all came back
// | as is advised: it: every row is right; all 25 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        leaq    8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        andq    $-64, %rsp
        pushq   -8(%r10)
        pushq   %rbp
        movq    %rsp, %rbp
        .cfi_escape 0x10, 6, 2, 0x76, 0
        pushq   %r12
        .cfi_escape 0x10, 12, 2, 0x76, 0x78
        pushq   %r10
        .cfi_escape 0xf, 3, 0x76, 0x70, 6
        pushq   %rbx
        .cfi_escape 0x10, 3, 2, 0x76, 0x68
        movq    %rdi, %rbx
        testq   %rsi, %rsi
        je      2f
        leaq    1(%rbx), %rax
        popq    %rbx
        popq    %r10
        .cfi_remember_state
        .cfi_def_cfa %r10, 0
        popq    %r12
        popq    %rbp
        leaq    -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
2:      .cfi_restore_state
        movq    %rbx, %rax
        popq    %rbx
        popq    %r10
        .cfi_def_cfa %r10, 0
        popq    %r12
        popq    %rbp
        leaq    -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   f, . - f
