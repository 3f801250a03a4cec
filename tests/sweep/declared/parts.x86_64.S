// Two entries of which none begins as a function does, and one jumps to the other: so none of them is led to.
//
// case: their first rows count from a register that nobody set
// | 0 of 2 agree
// | cannot tell: its first row is that of a part of a function, and nothing leads to it so
// | f+0x0: its first row is that of a part of a function, and nothing leads to it so
// | cannot tell: its first row is that of a part of a function, and nothing leads to it so
// | g+0x0: its first row is that of a part of a function, and nothing leads to it so
// case: a function leads to the first, with that register set
// -         nop // another function
// +         .globl h
// +         .type h, @function
// + h:      .cfi_startproc
// +         leaq    8(%rsp), %r11
// +         .cfi_def_cfa %r11, 0
// +         subq    $8, %r11
// +         .cfi_def_cfa_offset 8
// +         jmp     f
// +         .cfi_endproc
// +         .size h, .-h
// | 3 of 3 agree

        .globl f, g
        .type f, @function
        .type g, @function
f:      .cfi_startproc
        .cfi_def_cfa %r11, 8
        movl    $1, %eax
        jmp     g
        .cfi_endproc
        .size f, .-f
        nop // another function
g:      .cfi_startproc
        .cfi_def_cfa %r11, 8
        movl    $2, %ecx
        ret
        .cfi_endproc
        .size g, .-g
