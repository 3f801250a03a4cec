// A macro that is a whole function, used in many lines: one finding, and the lines as a range.
//
// case: no push is told
// -         .cfi_def_cfa_offset 16
// | it: 5 of 5 functions have a wrong row; all 20 instructions were executed.
// | error `stub f g`, at +0, 9: `stub f g` in stub, -9; f < no code (the word at CFA-16); tried: assembled with it and run again, its 5 uses are right, and nothing else is wrong by it
// | f+0x1 (call g): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_adjust_cfa_offset 8` behind line 5 (in stub, used in lines 14, 15 and 17 to 19) (.eh_frame; seen when it was executed; 9 more instructions in 4 more functions by the same cause)
// | f: 4, 4 executed, all came back
// | f1: 4, 4 executed, all came back
// | f2: 4, 4 executed, all came back
// | f3: 4, 4 executed, all came back
// | f4: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 20 instructions were executed.

        .macro stub name target
        .globl  \name
        .type   \name, @function
\name:  .cfi_startproc
        pushq   %rax
        .cfi_def_cfa_offset 16
        call    \target
        popq    %rdx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   \name, .-\name
        .endm
        .text
        stub f g
        stub f1 g

        stub f2 g1
        stub f3 g1
        stub f4, g2
