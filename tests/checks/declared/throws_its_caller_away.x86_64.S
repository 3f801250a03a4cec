// libffi's `ffi_closure_unix64_alt`: a trampoline left two words, and below them is who called.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 6 of 7 instructions were executed (85.7 %), 1 undecided, in other.
// | inner: 4, 4 executed, all came back
// | other: 3, 2 executed, 1 never, some came back
// case: another size
// -         .cfi_adjust_cfa_offset 24
// +         .cfi_adjust_cfa_offset 16
// | it: 1 of 2 functions has a wrong row; 6 of 7 instructions were executed (85.7 %), 1 undecided, in other.
// | error `xorl %eax, %eax`, at -1, 9: `.cfi_adjust_cfa_offset 16`; inner < no code (the word at CFA-16); tried: it makes 2 instructions right and none wrong
// | inner+0x4 (xorl %eax, %eax): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+32 here: write `.cfi_adjust_cfa_offset 24` for `.cfi_adjust_cfa_offset 16` in line 6 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | inner: 4, 4 executed, all came back
// | other: 3, 2 executed, 1 never, some came back
// | as is advised: it: every row that was executed is right; 6 of 7 instructions were executed (85.7 %), 1 undecided, in other.

        .text
        .globl inner
        .type inner, @function
inner:  .cfi_startproc
        subq $24, %rsp
        .cfi_adjust_cfa_offset 24
        xorl %eax, %eax
        addq $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size inner, .-inner
        .globl other
        .type other, @function
other:  .cfi_startproc
        movq 8(%rsp), %r10
        addq $16, %rsp
        .cfi_adjust_cfa_offset -16
        jmp inner
        .cfi_endproc
        .size other, .-other
