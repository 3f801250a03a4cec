// The end of several functions, made one by LLVM's outliner, with no rows: it ends its callers' frames, so how SP stands at its
// start is not known.
//
// case: as it is
// | 0 of 1 agree
// | cannot tell: CFA: what it counts from is not known
// | f+0x4 (row of f+0x0): the row says CFA = sp; sp is CFA+0x40, coming from f+0x0
// case: the frame is its own
// -         add     sp, sp, #64
// +         sub     sp, sp, #64
// +         add     sp, sp, #64
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x4 (row of f+0x0): the row says CFA = sp; sp is CFA-0x40, coming from f+0x0

        .globl f
        .type f, %function
f:      .cfi_startproc
        add     sp, sp, #64
        ret
        .cfi_endproc
        .size f, .-f
