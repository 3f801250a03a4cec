// Behind `.cfi_restore_state` an adjustment is counted from one offset by GNU's assembler, from another one by LLVM's:
// what is advised is read alike by both.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `ret`, at -1, 9: `.cfi_adjust_cfa_offset -24`; f < no code (the word at CFA-32); tried: it makes 1 instruction right and none wrong
// | f+0x16 (ret): the caller is lost: the row says CFA = %rsp-16, the true CFA is %rsp+8 here: write `.cfi_def_cfa_offset 8` for `.cfi_adjust_cfa_offset -24` in line 16: assemblers do not agree on what an adjustment behind `.cfi_restore_state` is counted from (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 8, 5 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.
// case: another one counts from it
// - 1:      .cfi_restore_state
// + 1:      .cfi_restore_state
// +         subq    $8, %rsp
// +         .cfi_adjust_cfa_offset 8
// +         call    g@PLT
// +         addq    $8, %rsp
// +         .cfi_adjust_cfa_offset -8
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `call    g@PLT`, at -1, 9: `.cfi_adjust_cfa_offset 8`; f < no code (the word at CFA-32); tried: it makes 5 instructions right and none wrong
// | f+0x11 (call g@PLT): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+40 here: write `.cfi_def_cfa_offset 40` for `.cfi_adjust_cfa_offset 8` in line 15: assemblers do not agree on what an adjustment behind `.cfi_restore_state` is counted from (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 4 more instructions by the same cause)
// | f: 11, 5 executed, 6 forced, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        testl   %edi, %edi
        js      1f
        .cfi_remember_state
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
1:      .cfi_restore_state
        call    g@PLT
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size   f, .-f
