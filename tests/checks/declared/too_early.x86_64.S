// Directives before the first instruction: others call it, whatever its first row says.
// ! {"runs": 20, "steps": 60}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 4 instructions were executed.
// | error `push    %rbx`, at -2, 9: `.cfi_def_cfa_offset 16`; f < no code (the word at CFA+0); tried: it makes 1 instruction right and none wrong
// | f (push %rbx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+8 here; the row says %rbx is at CFA-16, %rbx still has the caller's value: move `.cfi_def_cfa_offset 16` and `.cfi_offset %rbx, -16` from lines 5 and 6 behind line 7 (.eh_frame; seen when it was executed)
// | f: 4, 4 executed, all came back
// | as is advised: it: every row is right; all 4 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        push    %rbx
        mov     %rdi, %rbx
        pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
