// SP rounded down further than the convention rounds it: how far it goes then, another call tells.
//
// case: the row counts from SP, and fits one call
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `movl    $3, %ebx`, at -1, 9: `.cfi_def_cfa %rsp, 0xc0`; f < no code (the word at CFA+0x8); tried: it makes 3 instructions right and none wrong
// | f+0x14 (movl $3, %ebx): the caller is lost: the row says CFA = %rsp+0xc0, the true CFA is %rsp+0xb0 at the first visit, and at no fixed distance: write `.cfi_def_cfa %rax, 8` for `.cfi_def_cfa %rsp, 0xc0` in line 11 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 11, 11 executed, all came back
// | as is advised: it: every row is right; all 11 instructions were executed.
// case: an expression finds the CFA in the frame
// -         .cfi_def_cfa %rsp, 0xc0
// +         .cfi_escape 0x0f,6,0x77,0xf8,0,6,0x23,8
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 11 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        movq    %rsp, %rax
        .cfi_def_cfa %rax, 8
        pushq   %rbx
        .cfi_offset %rbx, -16
        subq    $0x80, %rsp
        andq    $-64, %rsp
        movq    %rax, 0x78(%rsp)
        .cfi_def_cfa %rsp, 0xc0
        movl    $3, %ebx
        movq    %rdi, (%rsp)
        movq    0x78(%rsp), %rsi
        .cfi_def_cfa %rsi, 8
        movq    -8(%rsi), %rbx
        .cfi_restore %rbx
        leaq    (%rsi), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size f, .-f
