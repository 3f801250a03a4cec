// A register that is given back where no run has changed it is told by what the code loads there.
//
// case: as it is
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 10 executed, 3 forced, some came back
// case: another register is given back
// - .cfi_restore %rbp // its own
// + .cfi_restore %rbx
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | warning `movq 8(%rsp), %rbx`, at -1, 1: `.cfi_restore %rbx`; f < caller (%rbx wrong) < main; tried: it makes 1 instruction right and none wrong
// | f+0x18 (movq 8(%rsp), %rbx): %rbx is shown wrong in the caller: the row says %rbx is still in %rbx, the caller's %rbx is at CFA-16: write `.cfi_restore %rbp` for `.cfi_restore %rbx` in line 19 (.eh_frame; seen when it was executed)
// | f: 13, 10 executed, 3 forced, some came back
// | as is advised: it: every row is right; all 13 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -24
        xorl %eax, %eax
        testq %rsi, %rsi
        jne 2f
        movq %rdi, %rbp
1:      incq %rsi
        jne 1b
2:      movq %rdi, %rbx
        movq (%rsp), %rbp
.cfi_restore %rbp // its own
        movq 8(%rsp), %rbx
        .cfi_restore %rbx
        addq $16, %rsp
        .cfi_adjust_cfa_offset -16
        ret
        .cfi_endproc
        .size f, .-f
