// A made-up number, as an index beyond a table, may lead anywhere: within an instruction nobody begins, but over a
// prefix, as glibc's spin locks do.
//
// case: as it is
// | it: every row is right; all 12 instructions were executed.
// | f: 2, 2 executed, some came back
// | g: 3, 3 executed, all came back
// | h: 7, 7 executed, all came back

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        leaq    g+1(%rip), %rax
        jmp     *%rax
        .cfi_endproc
        .size   f, .-f
        .globl  g
        .type   g, @function
g:      .cfi_startproc
        movl    $0x90909053, %eax
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size   g, .-g
        .globl  h
        .type   h, @function
h:      .cfi_startproc
        cmpl    $0, %edi
        je      1f+1
1:      lock incl (%rsi)
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        xorl    %ebx, %ebx
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   h, .-h
