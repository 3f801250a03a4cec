// A register that the whole program keeps a variable in is loaded in front of a jump table, and the cases give it back
// so: the function has a convention of its own, of which the cases' rows say nothing else than those before.
//
// case: as it is
// | 1 of 1 agree, 1 private
// case: a case loads it from where the start put it
// -         movq    (%rsi), %r12
// +         movq    %r12, (%rsp)
// +         movq    (%rsi), %r12
// - 2:      movl    $1, %eax
// + 2:      movq    (%rsp), %r12
// - 3:      movl    $2, %eax
// + 3:      movq    (%rsp), %r12
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0xb (row of f+0x4): the row says r12 is unchanged; there is another value, not the caller's, coming from f+0x8

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        movq    (%rsi), %r12
        leaq    table(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        addq    %rdx, %rax
        jmp     *%rax
2:      movl    $1, %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_def_cfa_offset 32
3:      movl    $2, %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
        .section .rodata
table:  .long   2b-table
        .long   3b-table
