// As longjmp: where SP is loaded from a buffer the function has left its frame, and the registers that were loaded before
// are not its callers'. Where SP stays they are.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x14 (row of f+0x4): the row says CFA = rsp+0x10; rsp is something that is not known, coming from f+0x10
// case: SP stays, and rbx is given back
// -         movq    (%rdi), %rbx
// +         movq    %rbx, (%rsp)
// +         movq    (%rdi), %rbx
// -         movq    8(%rdi), %r12
// -         movq    16(%rdi), %rsp
// -         jmp     *24(%rdi)
// +         movq    (%rsp), %rbx
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x10 (row of f+0x4): the row says rbx is unchanged; there is another value, not the caller's, coming from f+0xd

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        testq   %rdi, %rdi
        je      1f
        movq    (%rdi), %rbx
        movq    8(%rdi), %r12
        movq    16(%rdi), %rsp
        jmp     *24(%rdi)
1:      addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
