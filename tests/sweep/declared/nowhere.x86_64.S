// A crash on purpose: nothing goes on behind a store to the first page. Behind a call that nobody says comes back, a row
// for another frame accuses nobody.
//
// case: as it is
// | 1 of 1 agree
// case: the store is to a page that there may be
// -         movb    $0, 1
// +         movb    $0, 0x10001
// | 0 of 1 agree
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | f+0x1c: a way to a row for another frame, perhaps for a case that never comes
// case: a call in place of the store
// -         movb    $0, 1
// +         call    leave@PLT
// | 1 of 1 agree

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        leaq    table(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        addq    %rdx, %rax
        cmpq    $7, %rdi
        jne     1f
        movq    %rdi, %rbx
        movb    $0, 1
        .cfi_def_cfa_offset 40
2:      addq    $24, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_def_cfa_offset 32
        .cfi_offset %rbx, -16
1:      pushq   %rdi
        .cfi_def_cfa_offset 40
        jmp     *%rax
        .cfi_endproc
        .size f, .-f
        .section .rodata
table:  .long   2b-table
