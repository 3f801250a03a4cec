// A branch that no call here takes: what a row says of a register behind it is read, where it was not proven.
// ! {"runs": 20, "steps": 100}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 7 executed, 4 forced, all came back
// case: a save that is not told again
// -         .cfi_offset %rbx, -16
// - 1:      movl    $-1, %eax
// + 1:      movl    $-1, %eax
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | warning `1:      movl    $-1, %eax`, at -1, 9: `.cfi_def_cfa_offset 16`; f < caller (%rbx wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0xe (movl $-1, %eax): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: add `.cfi_offset %rbx, -16` behind line 16 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 11, 11 executed, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        movq    %rdi, %rbx
        .cfi_offset %rbx, -16
        testq   %rdi, %rdi
        jz      1f
        movzbl  (%rbx), %eax
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
1:      movl    $-1, %eax
        nop
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   f, .-f
