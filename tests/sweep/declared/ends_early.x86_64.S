// A helper with a contract of its own, whose entry ends before its return does.
//
// case: as it is
// | 1 of 1 agree, 1 private
// case: the entry has the return, too
// -         .cfi_endproc
// -         ret
// +         ret
// +         .cfi_endproc
// | 1 of 1 agree, 1 private
// case: a push that no row tells of
// -         bswap   %r12
// +         bswap   %r12
// +         pushq   %rax
// +         popq    %rcx
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x4 (row of f+0x0): the row says CFA = rsp+0x8; rsp is CFA-0x10, coming from f+0x3

        .type f, @function
f:      .cfi_startproc
        bswap   %r12
        xorl    %ebx, %ebx
        .cfi_endproc
        ret
        .size f, .-f
