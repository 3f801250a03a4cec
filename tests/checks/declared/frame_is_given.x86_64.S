// Panda's `DeoptimizeAfterCFrame`: from its first instruction on its rows are of a frame that an argument points to.
//
// case: as it is
// | it: every row that was executed is right; 1 of 7 instructions were executed (14.3 %), 6 undecided, in f.
// | other: 1, 1 executed, all came back
// | not called: f: 6, 6 never
// | note: not called, 1 place of code (f): what stands there is no function that someone calls
// case: its rows count from where SP is
// -         .cfi_def_cfa %rcx, 16
// +         .cfi_def_cfa %rsp, 16
// | it: every row that was executed is right but those of 1 function for another entry than a call; 2 of 7 instructions were executed (28.6 %), 5 undecided, in f.
// | note `leaq    -64(%rcx), %rsp`, at +0, 9: `leaq -64(%rcx), %rsp`
// | f (leaq -64(%rcx), %rsp): the row says CFA = %rsp+16, and a call leaves less, and is never returned from: it supposes another entry, as by a jump (.eh_frame; seen when it was executed)
// | f: 6, 1 executed, 5 never, some came back
// | other: 1, 1 executed, all came back
// | dropped 1: came back with another SP, or with callee-saved registers lost
// | dropped 2: SP leaves the stack
// | dropped 1: a jump to where no code is

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        .cfi_def_cfa %rcx, 16
        .cfi_rel_offset %rbp, 0
        leaq    -64(%rcx), %rsp
        movq    %rcx, %rbp
        .cfi_def_cfa_register %rbp
        call    g@PLT
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   f, .-f
        .globl  other
        .type   other, @function
other:  .cfi_startproc
        ret
        .cfi_endproc
        .size   other, .-other
