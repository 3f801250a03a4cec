// Where a jump table leads to: what is known at the jump holds there.
//
// case: as it is
// | 1 of 1 agree
// case: one case has another row
// - 2:      movl    $2, %eax
// + 2:      .cfi_adjust_cfa_offset 8
// +         movl    $2, %eax
// | 0 of 1 agree
// | suspect: CFA: a jump leads to a row for another one
// | f+0x20 (row of f+0x1b): the row says CFA = rsp+0x18; rsp is CFA-0x10, coming from f+0x19

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        leaq    table(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        addq    %rdx, %rax
        jmpq    *%rax
1:      movl    $1, %eax
        jmp     3f
2:      movl    $2, %eax
3:      leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size f, .-f
        .section .rodata
table:  .long 1b - table, 2b - table
