// A call that does not come back: the file says so, where another one has nothing behind it.
//
// case: as it is
// | 2 of 2 agree
// case: nobody says so
// -         call    stop@PLT
// -         .cfi_endproc
// -         .size g, .-g
// +         call    stop@PLT
// +         ret
// +         .cfi_endproc
// +         .size g, .-g
// | 1 of 2 agree
// | cannot tell: a call that perhaps does not come back
// | f+0x6: a call that perhaps does not come back

        .globl f, g
        .type f, @function
f:      .cfi_startproc
        testq   %rdi, %rdi
        je      2f
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        call    stop@PLT
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
2:      ret
        .cfi_endproc
        .size f, .-f
        .type g, @function
g:      .cfi_startproc
        call    stop@PLT
        .cfi_endproc
        .size g, .-g
