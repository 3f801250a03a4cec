// Code that nothing leads to, in a function with a jump through a table, and that begins with a word off the stack: who
// leads to it has put that there, so how SP stands there is not known, and nobody is accused.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x1e: code that nothing is known to lead to, and in which no row begins: perhaps data
// case: it takes nothing first
// -         popq    %rax
// +         addq    $8, %rsp
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x22 (row of f+0x1e): the row says CFA = rsp+0x20; rsp is CFA-0x18, coming from f+0x1e

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        leaq    table(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        addq    %rdx, %rax
        jmp     *%rax
2:      movl    $1, %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_def_cfa_offset 32
        popq    %rax
        movq    (%rsp), %rdi
        pushq   %rax
        jmp     g@PLT
        .cfi_endproc
        .size f, .-f
        .section .rodata
table:  .long   2b-table
