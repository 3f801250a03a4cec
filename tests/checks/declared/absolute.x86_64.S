// An offset that is said absolutely counts from none that is forgotten before it: each is corrected for itself.
// ! {"runs": 60, "steps": 200}
//
// case: a push is forgotten everywhere
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `subq    $16, %rsp`, at -1, 9: `pushfq`; f < no code (the word at CFA-16); tried: it makes 4 instructions right and none wrong
// | f+0x1 (subq $16, %rsp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` behind line 5, and write `.cfi_def_cfa_offset 32` for `.cfi_def_cfa_offset 24` in line 7 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | error `popfq`, at -1, 9: `addq $16, %rsp`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f+0x11 (popfq): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` behind line 10 (.eh_frame; seen when it was executed)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushfq
        subq    $16, %rsp
        .cfi_def_cfa_offset 24
        movq    %rdi, (%rsp)
        movq    (%rsp), %rax
        addq    $16, %rsp
        popfq
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
