// Rows with a rule for SP mean another frame than the caller's: here that of who was patched, which its words are of.
// What would make rows further up right must leave these as their author has them.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; 2 of 6 instructions were executed (33.3 %), 4 undecided, in f.
// | error `movq    %rdi, 8(%rsp)`, at -2, 9: `subq $0x18, %rsp`; f < no code (the word at CFA-40)
// | f+0x4 (movq %rdi, 8(%rsp)): the caller is lost: the row says CFA = %rsp+0, the true CFA is %rsp+32 here; no correction is given: directives were found, but written into the source they do not give right rows (.eh_frame; seen when it was executed)
// | f: 6, 2 executed, 4 never, all came back
// | note: 4 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: nobody else's
// -         .cfi_offset %rsp, 8
// -         movq    %rsi, (%rsp)
// -         .cfi_offset %rip, 0
// -         xorl    %eax, %eax
// +         xorl    %eax, %eax
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `movq    %rdi, 8(%rsp)`, at -1, 9: `.cfi_def_cfa_offset 0`; f < no code (the word at CFA-40); tried: it makes 3 instructions right and none wrong
// | f+0x4 (movq %rdi, 8(%rsp)): the caller is lost: the row says CFA = %rsp+0, the true CFA is %rsp+32 here: write `.cfi_def_cfa_offset 32` for `.cfi_def_cfa_offset 0` in line 6 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | error `ret`, at -1, 9: `addq $0x18, %rsp`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0xf (ret): the caller is lost: the row says CFA = %rsp+0, the true CFA is %rsp+8 here: add `.cfi_def_cfa_offset 8` behind line 9 (.eh_frame; seen when it was executed)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        subq    $0x18, %rsp
        .cfi_def_cfa_offset 0
        movq    %rdi, 8(%rsp)
        .cfi_offset %rsp, 8
        movq    %rsi, (%rsp)
        .cfi_offset %rip, 0
        xorl    %eax, %eax
        addq    $0x18, %rsp
        ret
        .cfi_endproc
        .size   f, . - f
