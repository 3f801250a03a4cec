// All instructions are executed by the first calls, and none of these leaves by the branch that passes over the push.
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | warning `2:      ret`, at -1, 9: `.cfi_def_cfa_offset 8`; f < caller (%rbx wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x1c (ret): %rbx is shown wrong in the caller: the row says %rbx is at CFA-16, %rbx still has the caller's value: add `.cfi_restore %rbx` behind line 17 (.eh_frame; seen when it was executed)
// | f: 12, 12 executed, some came back
// | as is advised: it: every row is right; all 12 instructions were executed.
// case: the branch's way has a row of its own
// -         .cfi_def_cfa_offset 8
// +         .cfi_def_cfa_offset 8
// +         .cfi_restore %rbx
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, some came back
// case: only a forced path takes it
// -         testq   %rsi, %rsi
// +         cmpq    $0x12345, %rsi
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 12 executed, some came back
// | note: .eh_frame: 1 instruction counts as right, though wrong on a forced path: f+0x20 (control was turned at f+0x9)

        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xorl    %eax, %eax
        testq   %rsi, %rsi
        jz      2f
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
1:      movq    (%rdi), %rbx
        cmpq    %rax, %rbx
        cmovaq  %rbx, %rax
        addq    $8, %rdi
        decq    %rsi
        jnz     1b
        popq    %rbx
        .cfi_def_cfa_offset 8
2:      ret
        .cfi_endproc
        .size   f, .-f
