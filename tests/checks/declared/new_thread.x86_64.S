// A helper that makes a thread on a stack of its own: what the new one does is not tried on the stack of the other.
//
// case: as it stands
// | it: every row that was executed is right; 7 of 12 instructions were executed (58.3 %), 5 undecided, in f.
// | f: 12, 7 executed, 5 never, some came back
// case: the number of another system call
// -         movl    $56, %eax
// +         movl    $39, %eax
// | it: 1 of 1 function has a wrong row; 10 of 12 instructions were executed (83.3 %), 2 undecided, in f.
// | error `popq    %rdi`, at -1, 9: `popq %rax`; f < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | f+0x11 (popq %rdi): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: add `.cfi_adjust_cfa_offset -8` behind line 10, `.cfi_adjust_cfa_offset -8` behind line 11, and `.cfi_adjust_cfa_offset 16` behind line 12 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | error `call    *%rax`, at -1, 9: `popq %rdi`; f < no code (the word at CFA-8)
// | f+0x12 (call *%rax): the caller is lost: the row says %rip is at CFA-8, the caller's %rip is in %rdi; no correction is given: what is true here is not so, or not known to be so, wherever a directive would reach (.eh_frame; seen when it was executed)
// | f: 12, 8 executed, 2 forced, 2 never, some came back
// | as is advised: it: 1 of 1 function has a wrong row; 10 of 12 instructions were executed (83.3 %), 2 undecided, in f.

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $56, %eax
        syscall
        testq   %rax, %rax
        jne     1f
        popq    %rax
        popq    %rdi
        call    *%rax
        movl    $60, %eax
        syscall
1:      addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size f, .-f
