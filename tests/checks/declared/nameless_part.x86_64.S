// The same without a symbol: its table's entry alone tells of it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 7, 7 executed, all came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// case: a wrong offset
// -         .cfi_def_cfa_offset 24
// +         .cfi_def_cfa_offset 32
// | it: 1 of 2 functions and parts has a wrong row; all 11 instructions were executed.
// | error `movl    $3, %eax`, at -2, 9: `.cfi_def_cfa_offset 32`; no name < no code (the word at CFA+0); tried: it makes 2 instructions right and none wrong
// | no name+0x1 (movl $3, %eax): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rsp+24 here: write `.cfi_def_cfa_offset 24` for `.cfi_def_cfa_offset 32` in line 22 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | not called: no name: 4, 4 forced
// | note: not called, 1 place of code: what stands there is no function that someone calls
// | as is advised: it: every row is right; all 11 instructions were executed.

        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        je      .Lcold
        xorl    %eax, %eax
back:   popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
.Lcold: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movl    $3, %eax
        popq    %rbp
        .cfi_def_cfa_offset 16
        .cfi_restore %rbp
        jmp     back
        .cfi_endproc
