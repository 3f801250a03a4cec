// SP that a made-up amount raises, where it was to be lowered, is no run's; that its row is wrong is read all the same.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; 6 of 10 instructions were executed (60.0 %), 4 only read.
// | error `movq    %rsp, %rdi`, no place
// | f+0x15 (mov rdi, rsp): the row says CFA = rsp+0x10, rsp is an address in the stack, at a distance from the CFA that is not known; no correction is given: nobody executed it, and the instructions alone do not say what is true there (.eh_frame; only read: it follows from the instructions before it; 2 more instructions by the same cause)
// | f: 10, 6 executed, 4 static, some came back
// | dropped 2: SP leaves the stack
// case: counted from the frame pointer
// -         movq    %rsp, %rbp
// +         movq    %rsp, %rbp
// +         .cfi_def_cfa_register %rbp
// | it: every row that was executed is right; 6 of 10 instructions were executed (60.0 %), 4 only read.
// | f: 10, 6 executed, 4 static, some came back
// | dropped 2: SP leaves the stack

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        movl    240(%rdi), %eax
        shlq    $7, %rax
        subq    $96, %rax
        subq    %rax, %rsp
        movq    %rsp, %rdi
        movq    $0, (%rdi)
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   f, .-f
