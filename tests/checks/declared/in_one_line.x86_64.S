// Several statements in a line: an advice says before which of them.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | f: 7, 7 executed, all came back
// case: what moves SP is not told
// - 2:      sub $16, %rsp; .cfi_adjust_cfa_offset 16; mov %rdi, %rbx
// + 2:      sub $16, %rsp; mov %rdi, %rbx
// -         add $16, %rsp; .cfi_adjust_cfa_offset -16; pop %rbx; .cfi_adjust_cfa_offset -8
// +         add $16, %rsp; pop %rbx; .cfi_adjust_cfa_offset -8
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | error `2:      sub $16, %rsp; mov %rdi, %rbx`, at +0, 24: `mov %rdi, %rbx`; f < no code (the word at CFA-24); tried: it makes 3 instructions right and none wrong
// | f+0x5 (mov %rdi, %rbx): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+32 here: add `.cfi_adjust_cfa_offset 16` before `mov %rdi, %rbx` in line 6, and `.cfi_adjust_cfa_offset -16` before `pop %rbx` in line 8 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        push %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset %rbx, 0
2:      sub $16, %rsp; .cfi_adjust_cfa_offset 16; mov %rdi, %rbx
        lea 1(%rbx), %rax
        add $16, %rsp; .cfi_adjust_cfa_offset -16; pop %rbx; .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
