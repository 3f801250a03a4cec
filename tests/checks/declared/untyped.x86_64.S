// Assembly that never says `.type`: its functions are the labels at which one can only begin. `inner` is a place
// that a jump leads to, `falls` one that control goes on to; `helper` is called.
//
// case: as it is
// | it: 1 of 3 functions has a wrong row; all 14 instructions were executed.
// | error `pushq   %rbp`, at -1, 9: `pushq %rbx`; sum < no code (the caller's %rbx); tried: it makes 2 instructions right and none wrong
// | sum+0x1 (pushq %rbp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %rbx, -16` behind line 10, and `.cfi_def_cfa_offset 8` and `.cfi_restore %rbx` behind line 18 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `xorl    %eax, %eax`, at -1, 9: `pushq %rbp`; sum < no code (the caller's %rbp); tried: it makes 6 instructions right and none wrong
// | sum+0x2 (xorl %eax, %eax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here: add `.cfi_def_cfa_offset 24` and `.cfi_offset %rbp, -24` behind line 11, and `.cfi_def_cfa_offset 16` and `.cfi_restore %rbp` behind line 17: together with what is advised above (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | twice: 2, 2 executed, all came back
// | sum: 10, 10 executed, all came back
// | helper: 2, 2 executed, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.
// case: without any table
// - twice:  .cfi_startproc
// + twice:
// -         leaq    (%rdi,%rdi), %rax
// -         ret
// -         .cfi_endproc
// +         leaq    (%rdi,%rdi), %rax
// +         ret
// - sum:    .cfi_startproc
// + sum:
// - helper: movl    $3, %eax
// -         ret
// -         .cfi_endproc
// + helper: movl    $3, %eax
// +         ret
// | it: 1 of 3 functions has code without a row; all 14 instructions were executed; 14 have no row.
// | note `leaq    (%rdi,%rdi), %rax`, at +0, 9: `leaq (%rdi,%rdi), %rax`; twice < nothing more; tried: it makes 2 instructions right and none wrong
// | twice (leaq (%rdi,%rdi), %rax): nothing calls it from code that has rows: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 5, and `.cfi_endproc` behind line 6 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `pushq   %rbx`, at +0, 9: `pushq %rbx`; sum < nothing more; tried: it makes 2 of 10 instructions right; what the others need as well, testbed annotate writes
// | sum (pushq %rbx): the caller is lost: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 9, and `.cfi_endproc` behind line 18 (tried: it makes 2 of 10 instructions right; what the others need as well, testbed annotate writes) (.eh_frame; seen when it was executed; 9 more instructions by the same cause)
// | note `helper: movl    $3, %eax`, at +0, 9: `movl $3, %eax`; helper < nothing more; tried: it makes 2 instructions right and none wrong
// | helper (movl $3, %eax): nothing calls it from code that has rows: no row covers this instruction, and its function is called: add `.cfi_startproc` before line 19, and `.cfi_endproc` behind line 20 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | twice: 2, 2 executed, 2 without row, all came back
// | sum: 10, 10 executed, 10 without row, all came back
// | helper: 2, 2 executed, 2 without row, all came back
// | as is advised: it: 1 of 3 functions has a wrong row; all 14 instructions were executed.
// case: a file that says which is a function is taken at its word
// -         .hidden twice
// +         .type twice, @function
// +  .size twice, 5
// | it: 1 of 2 functions has a wrong row; all 14 instructions were executed.
// | error `pushq   %rbp`, at -1, 9: `pushq %rbx`; sum < no code (the caller's %rbx); tried: it makes 2 instructions right and none wrong
// | sum+0x1 (pushq %rbp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %rbx, -16` behind line 11, and `.cfi_def_cfa_offset 8` and `.cfi_restore %rbx` behind line 19 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `xorl    %eax, %eax`, at -1, 9: `pushq %rbp`; sum < no code (the caller's %rbp); tried: it makes 6 instructions right and none wrong
// | sum+0x2 (xorl %eax, %eax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here: add `.cfi_def_cfa_offset 24` and `.cfi_offset %rbp, -24` behind line 12, and `.cfi_def_cfa_offset 16` and `.cfi_restore %rbp` behind line 18: together with what is advised above (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | twice: 2, 2 executed, all came back
// | sum: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.

        .text
        .globl  sum, twice, inner, falls
        .hidden twice
twice:  .cfi_startproc
        leaq    (%rdi,%rdi), %rax
        ret
        .cfi_endproc
        .p2align 4
sum:    .cfi_startproc
        pushq   %rbx
        pushq   %rbp
        xorl    %eax, %eax
falls:  testq   %rsi, %rsi
        jle     inner
        call    helper
        jmp     inner
inner:  popq    %rbp
        popq    %rbx
        ret
helper: movl    $3, %eax
        ret
        .cfi_endproc
