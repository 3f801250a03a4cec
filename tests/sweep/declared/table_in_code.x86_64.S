// A jump table in the code, behind the jump that uses it: its address is taken, and nothing shows that it is code.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x1d: code that nothing is known to lead to, and in which no row begins: perhaps data
// case: the frame is told wrong where the table leads
// - 2:      popq    %rbx
// -         .cfi_restore %rbx
// -         .cfi_def_cfa_offset 8
// + 2:      popq    %rbx
// +         .cfi_restore %rbx
// | 0 of 1 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x1d: code that nothing is known to lead to, and in which no row begins: perhaps data
// case: nobody takes its address
// -         leaq    table(%rip), %rax
// +         movq    %rsi, %rax
// | 0 of 1 agree
// | cannot tell: code that nothing is known to lead to, and in which no row begins: perhaps data
// | f+0x19: code that nothing is known to lead to, and in which no row begins: perhaps data

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        leaq    table(%rip), %rax
        movslq  (%rax,%rdi,4), %rdi
        addq    %rdi, %rax
        jmp     *%rax
        .p2align 2
table:  .long   2f-table, 3f-table
        .long   0x5b5d5bc3, 0xec834853, 0x00c35d08
        .byte   0xc3
3:      xorl    %eax, %eax
2:      popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
