// A system call that makes a thread: its first instructions are on a stack of its own, which no row is held against.
//
// case: the new thread takes its words off its stack
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x11 (row of f+0x4): the row says CFA = rsp+0x10; rsp is CFA-0x8, coming from f+0x10
// case: another system call
// -         movl    $56, %eax
// +         movl    $39, %eax
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x11 (row of f+0x4): the row says CFA = rsp+0x10; rsp is CFA-0x8, coming from f+0x10; wrong at a call, too

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
