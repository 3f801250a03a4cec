// An epilogue in mid-function takes the frame back in steps, and behind it nothing says that the frame is there
// again. Of the saved registers some are changed before the second half, one in it. Restored is the state of a
// whole frame, not that of a half.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 16 instructions were executed.
// | error `2:      leaq 1(%rdi), %rax`, at +0, 9: `leaq 1(%rdi), %rax`; f < no code (the caller's %r12); tried: it makes 7 instructions right and none wrong
// | f+0x11 (leaq 1(%rdi), %rax): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+24 here; the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_remember_state` behind line 14, and `.cfi_restore_state` before line 21 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 16, 13 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 16 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        movl $7, %ebx
        testq %rdi, %rdi
        jne 2f
        popq %r12
        .cfi_def_cfa_offset 16
        .cfi_restore %r12
        popq %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
2:      leaq 1(%rdi), %rax
        leaq 2(%rsi), %rdx
        movq %rdx, %r12
        leaq (%rax,%r12), %rax
        addq %rbx, %rax
        popq %r12
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
