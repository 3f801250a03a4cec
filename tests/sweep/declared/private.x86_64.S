// A helper whose callers know that it changes rbx: its rows say "same value", and nobody is accused. Who gives rbx back
// as it was has to tell where it is.
//
// case: as it is
// | 1 of 1 agree, 1 private
// case: on one of two ways
// -         xorl    %ebx, %ebx
// +         testq   %rdi, %rdi
// +         je      1f
// +         xorl    %ebx, %ebx
// -         leaq    1(%rbx), %rbx
// -         ret
// +         leaq    1(%rbx), %rbx
// + 1:      ret
// | 1 of 1 agree, 1 private
// case: it gives rbx back
// -         leaq    1(%rbx), %rbx
// +         movq    -8(%rsp), %rbx
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x7 (row of f+0x0): the row says rbx is unchanged; there is 0x0, coming from f+0x5

        .type f, @function
f:      .cfi_startproc
        movq    %rbx, -8(%rsp)
        xorl    %ebx, %ebx
        addq    %rdi, %rbx
        leaq    1(%rbx), %rbx
        ret
        .cfi_endproc
        .size f, .-f
