// Saved registers that go where nobody follows them: that is not known, and no mistake.
//
// case: through an index, a string, a vector, a pop
// | 0 of 4 agree
// | cannot tell: a register: whether it is where the row says is not known
// | by_index+0xd (row of by_index+0xd): the row says rbx is at CFA-0x20; there is something that is not known, coming from by_index+0x9
// | cannot tell: a register: whether it is where the row says is not known
// | by_string+0xd (row of by_string+0xd): the row says r12 is at CFA-0x20; there is something that is not known, coming from by_string+0xa
// | cannot tell: a register: whether it is where the row says is not known
// | by_vector+0x15 (row of by_vector+0x15): the row says r13 is at CFA-0x20; there is something that is not known, coming from by_vector+0x10
// | cannot tell: a register: whether it is where the row says is not known
// | by_pop+0xa (row of by_pop+0xa): the row says r15 is at CFA-0x10; there is something that is not known, coming from by_pop+0x6
// case: the row is wrong where the register is overwritten all the same
// -         movq    %rbx, (%rsp,%rcx,8)
// +         movl    %ecx, (%rsp,%rcx,8)
// | 0 of 4 agree
// | suspect: a register is not where the row says it is saved
// | by_index+0xc (row of by_index+0xc): the row says rbx is at CFA-0x20; there is another value, not the caller's, coming from by_index+0x9
// | cannot tell: a register: whether it is where the row says is not known
// | by_string+0xd (row of by_string+0xd): the row says r12 is at CFA-0x20; there is something that is not known, coming from by_string+0xa
// | cannot tell: a register: whether it is where the row says is not known
// | by_vector+0x15 (row of by_vector+0x15): the row says r13 is at CFA-0x20; there is something that is not known, coming from by_vector+0x10
// | cannot tell: a register: whether it is where the row says is not known
// | by_pop+0xa (row of by_pop+0xa): the row says r15 is at CFA-0x10; there is something that is not known, coming from by_pop+0x6

        .globl by_index, by_string, by_vector, by_pop
        .type by_index, @function
by_index:
        .cfi_startproc
        subq    $40, %rsp
        .cfi_adjust_cfa_offset 40
        movl    $2, %ecx
        movq    %rbx, (%rsp,%rcx,8)
        .cfi_offset %rbx, -32
        movq    %rdi, %rbx
        movq    (%rsp,%rcx,8), %rbx
        .cfi_restore %rbx
        addq    $40, %rsp
        .cfi_adjust_cfa_offset -40
        ret
        .cfi_endproc
        .size by_index, .-by_index
        .type by_string, @function
by_string:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %rsp, %rdi
        movq    %r12, %rax
        rep stosq
        .cfi_offset %r12, -32
        xorl    %r12d, %r12d
        movq    (%rsp), %r12
        .cfi_restore %r12
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size by_string, .-by_string
        .type by_vector, @function
by_vector:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %r13, %xmm2
        pinsrq  $1, %r14, %xmm2
        movdqu  %xmm2, (%rsp)
        .cfi_offset %r13, -32
        .cfi_offset %r14, -24
        xorl    %r13d, %r13d
        xorl    %r14d, %r14d
        movq    (%rsp), %r13
        .cfi_restore %r13
        movq    8(%rsp), %r14
        .cfi_restore %r14
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size by_vector, .-by_vector
        .type by_pop, @function
by_pop:
        .cfi_startproc
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        popq    8(%rsp)
        .cfi_adjust_cfa_offset -8
        .cfi_offset %r15, -16
        xorl    %r15d, %r15d
        movq    8(%rsp), %r15
        .cfi_restore %r15
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        ret
        .cfi_endproc
        .size by_pop, .-by_pop
