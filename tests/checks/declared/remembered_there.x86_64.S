// The CFA moves one instruction too early. Behind that the table remembers the state, which changes nothing
// there: what the directive is to end with is said.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `addq $8, %rsp`, at -1, 9: `.cfi_def_cfa_offset 8`; f < no code (the word at CFA-16); tried: it makes 1 instruction right and none wrong
// | f+0x9 (addq $8, %rsp): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: move `.cfi_def_cfa_offset 8` from line 8 behind line 10 (.eh_frame; seen when it was executed)
// | f: 8, 5 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

        .globl f
        .type f, @function
f:      .cfi_startproc
        subq $8, %rsp
        .cfi_def_cfa_offset 16
        testq %rdi, %rdi
        je 1f
        .cfi_def_cfa_offset 8
        addq $8, %rsp
        .cfi_remember_state
        ret
1:      .cfi_restore_state
        .cfi_def_cfa_offset 16
        xorl %eax, %eax
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
