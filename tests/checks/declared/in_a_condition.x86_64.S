// What an instruction does is told behind it, in the condition in which it stands: without it nothing is pushed.
//
// case: nothing is said of it
// - .cfi_adjust_cfa_offset 8
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `mov %rdi, %rax`, at -4, 9: `push %rbx`; f < no code (the caller's %rbx); tried: it makes 3 instructions right and none wrong
// | f+0x1 (mov %rdi, %rax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset 8` and `.cfi_offset %rbx, -16` behind line 6, and `.cfi_restore %rbx` behind line 12 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
#if 1
        push %rbx
.cfi_adjust_cfa_offset 8
#else
        nop
#endif
        mov %rdi, %rax
        pop %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size f, .-f
