// SP is lower in each round of a loop, and a word that the CFA is found by is copied down each time.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x1d (row of f+0x13): the row says CFA = an expression; that is something that is not known, coming from f+0x18

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    %rsp, %rax
        .cfi_def_cfa_register %rax
        subq    $0x120, %rsp
        andq    $-64, %rsp
        movq    %rax, 0x58(%rsp)
        .cfi_escape 0x0f, 0x06, 0x77, 0xd8, 0x00, 0x06, 0x23, 0x08
        movq    0x58(%rsp), %rdi
        leaq    -64(%rsp), %rsp
        movq    %rdi, -8(%rsp)
        .cfi_escape 0x0f, 0x05, 0x77, 0x78, 0x06, 0x23, 0x08
1:      leaq    -64(%rsp), %rsp
        pushq   56(%rsp)
        .cfi_escape 0x0f, 0x05, 0x77, 0x00, 0x06, 0x23, 0x08
        leaq    8(%rsp), %rsp
        .cfi_escape 0x0f, 0x05, 0x77, 0x78, 0x06, 0x23, 0x08
        decl    %esi
        jne     1b
        movq    -8(%rsp), %rsi
        .cfi_def_cfa %rsi, 8
        movq    %rsi, %rsp
        .cfi_def_cfa_register %rsp
        ret
        .cfi_endproc
        .size f, .-f
