// A large frame: who is called touches the stack, keeps rax, and leaves it to its caller to move SP.
//
// case: as it is
// | 1 of 1 agree
// case: the frame is another one
// -         .cfi_adjust_cfa_offset 26616
// +         .cfi_adjust_cfa_offset 26608
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0xd (row of f+0xd): the row says CFA = rsp+0x67f8; rsp is CFA-0x6800, coming from f+0xa

        .globl f
        .type f, @function
f:      .cfi_startproc
        movl    $26616, %eax
        call    touch@PLT
        subq    %rax, %rsp
        .cfi_adjust_cfa_offset 26616
        movq    %rdi, (%rsp)
        addq    $26616, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
