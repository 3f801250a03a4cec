// Behind a call that never returns the state is that of the call: what jumps over it has another one.
// ! {"runs": 60, "steps": 200}
//
// case: it is not said
// | it: 1 of 1 function has a wrong row; 8 of 10 instructions were executed (80.0 %), 2 undecided, in f.
// | error `2:      cmpq    $99, %rsi`, at -1, 9: `call abort@PLT`; f < no code (the word at CFA+0); tried: it makes 4 instructions right and none wrong
// | f+0xf (cmpq $99, %rsi): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: add `.cfi_def_cfa_offset 8` behind line 11 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 10, 8 executed, 2 never, all came back
// | as is advised: it: every row that was executed is right; 8 of 10 instructions were executed (80.0 %), 2 only read.
// case: by how much
// -         .cfi_def_cfa_offset 16
// +         .cfi_adjust_cfa_offset 8
// | it: 1 of 1 function has a wrong row; 8 of 10 instructions were executed (80.0 %), 2 undecided, in f.
// | error `2:      cmpq    $99, %rsi`, at -1, 9: `call abort@PLT`; f < no code (the word at CFA+0); tried: it makes 4 instructions right and none wrong
// | f+0xf (cmpq $99, %rsi): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here: add `.cfi_adjust_cfa_offset -8` behind line 11 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 10, 8 executed, 2 never, all came back
// | as is advised: it: every row that was executed is right; 8 of 10 instructions were executed (80.0 %), 2 only read.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        testq   %rdi, %rdi
        je      2f
        movq    (%rdi), %rax
        ret
1:      pushq   %rax
        .cfi_def_cfa_offset 16
        call    abort@PLT
2:      cmpq    $99, %rsi
        je      1b
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size   f, .-f
