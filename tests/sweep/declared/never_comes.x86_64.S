// Ways that are perhaps never taken: past a jump through a table, and from a block that nothing leads to.
//
// case: as it is
// | 2 of 4 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x34 (row of f+0x34): the row says CFA = rsp+0x8; rsp is CFA-0x20, coming from f+0xa
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | d+0xb: a way to a row for another frame, perhaps for a case that never comes
// case: where the case that never comes goes, nobody else goes
// -         call    g
// +         nop
// | 2 of 4 agree
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | f+0xa: a way to a row for another frame, perhaps for a case that never comes
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | d+0xb: a way to a row for another frame, perhaps for a case that never comes
// case: wrong before the branch
// -         .cfi_adjust_cfa_offset 24
// +         .cfi_adjust_cfa_offset 16
// | 2 of 4 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x4 (row of f+0x4): the row says CFA = rsp+0x18; rsp is CFA-0x20, coming from f+0x0
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | d+0xb: a way to a row for another frame, perhaps for a case that never comes
// case: the row of the block that nothing leads to, where something does
// - 5:      movb    $1, 8(%rsp)
// + 5:      je      4b
// | 2 of 4 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x34 (row of f+0x34): the row says CFA = rsp+0x8; rsp is CFA-0x20, coming from f+0xa
// | suspect: CFA: a jump leads to a row for another one
// | d+0x6 (row of d+0x6): the row says CFA = rsp+0x8; rsp is CFA-0x30, coming from d+0xd
// case: the block that nothing leads to is two, and the second begins in the midst of a row
// -         jmp     6f
// +         jmp     7f
// + 7:      movb    $2, 8(%rsp)
// +         jmp     6f
// | 2 of 4 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x34 (row of f+0x34): the row says CFA = rsp+0x8; rsp is CFA-0x20, coming from f+0xa
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | d+0x12: a way to a row for another frame, perhaps for a case that never comes
// case: a table beyond the branch, with a frame that is wrong there
// -         jmp     *%rax
// +         pushq   %rdi
// +         jmp     *%rax
// | 2 of 4 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x1b (row of f+0x4): the row says CFA = rsp+0x20; rsp is CFA-0x28, coming from f+0x1a
// | cannot tell: a way to a row for another frame, perhaps for a case that never comes
// | d+0xb: a way to a row for another frame, perhaps for a case that never comes

        .globl f, h, d
        .type f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movl    8(%rdi), %eax
        cmpl    $2, %eax
        ja      g
        leaq    3f(%rip), %rdx
        movslq  (%rdx, %rax, 4), %rax
        addq    %rdx, %rax
        jmp     *%rax
1:      movl    $1, %eax
2:      addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size f, .-f
        .type h, @function
h:      .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    g
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size h, .-h
        .type g, @function
g:      .cfi_startproc
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size g, .-g
        .type d, @function
d:      .cfi_startproc
        subq    $40, %rsp
        .cfi_adjust_cfa_offset 40
        jmp     5f
        .cfi_adjust_cfa_offset -40
4:      movb    $0, 8(%rsp)
        jmp     6f
        .cfi_adjust_cfa_offset 40
5:      movb    $1, 8(%rsp)
6:      movzbl  8(%rsp), %eax
        addq    $40, %rsp
        .cfi_adjust_cfa_offset -40
        ret
        .cfi_endproc
        .size d, .-d
        .section .rodata
3:      .long   1b-3b, 1b-3b, 2b-3b
