// Code that `ret` leads to, with a word of a caller's caller on the stack, as GHC's `obscure_ccall_ret_code`: it throws away
// what stands where a function's return address is, so how SP stands at its start is not known, and nobody is accused.
// Who keeps the return address in a register has a frame of its own.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x4 (row of f+0x0): the row says CFA = rsp+0x8; rsp is CFA, coming from f+0x0
// case: it is kept in a register
// -         addq    $8, %rsp
// -         ret
// +         popq    %rdx
// +         jmp     *%rdx
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x1 (row of f+0x0): the row says CFA = rsp+0x8; rsp is CFA, coming from f+0x0

        .globl f
        .type f, @function
f:      .cfi_startproc
        addq    $8, %rsp
        ret
        .cfi_endproc
        .size f, .-f
