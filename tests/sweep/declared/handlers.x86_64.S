// An interpreter's handlers in one entry, which jump to each other by a table; behind them a helper that returns.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: its first row is that of a part of a function, and nothing leads to it so
// | f+0x0: its first row is that of a part of a function, and nothing leads to it so

        .globl f
        .type f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 80
        .cfi_offset %rbx, -24
        movzbl  (%rbx), %eax
        addq    $4, %rbx
        jmp     *(%r14,%rax,8)
        movzbl  1(%rbx), %eax
        addq    $4, %rbx
        jmp     *(%r14,%rax,8)
        leaq    1(%rdi), %rax
        ret
        .cfi_endproc
        .size f, .-f
