// A function with an array of variable size, and code behind a branch that only a forced path reaches. A row
// that counts from SP behind that is proven by no call.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 14 instructions were executed.
// | f: 14, 11 executed, 3 forced, all came back
// case: a distance from SP that one call has
// - 2:      .cfi_restore_state
// + 2:      .cfi_restore_state
// +         .cfi_def_cfa %rsp, 32
// | it: 1 of 1 function has a wrong row; all 14 instructions were executed.
// | error `movl    $3, %eax`, at -1, 9: `.cfi_def_cfa %rsp, 32`; f < no code (the word at CFA+8); tried: it makes 3 instructions right and none wrong
// | f+0x1e (movl $3, %eax): the caller is lost: the row says CFA = %rsp+32, the true CFA is %rbp+16 here: write `.cfi_def_cfa %rbp, 16` for `.cfi_def_cfa %rsp, 32` in line 21 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 14, 11 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 14 instructions were executed.
// case: the size is a callee's answer
// -         andl    $63, %edi
// +         call elsewhere
// +         movl %eax, %edi
// | it: every row is right; all 15 instructions were executed.
// | f: 15, 12 executed, 3 forced, all came back
// case: the distance from SP for that answer, which is 0
// -         andl    $63, %edi
// +         call elsewhere
// +         movl %eax, %edi
// - 2:      .cfi_restore_state
// + 2:      .cfi_restore_state
// +         .cfi_def_cfa %rsp, 16
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | error `movl    $3, %eax`, at -1, 9: `.cfi_def_cfa %rsp, 16`; f < no code (the word at CFA-328); tried: it makes 3 instructions right and none wrong
// | f+0x22 (movl $3, %eax): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rbp+16 here: write `.cfi_def_cfa %rbp, 16` for `.cfi_def_cfa %rsp, 16` in line 22 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 15, 12 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 15 instructions were executed.
// case: the distance from SP for that answer, where no branch is
// -         andl    $63, %edi
// +         call elsewhere
// +         movl %eax, %edi
// -         xorl    %eax, %eax
// +         .cfi_def_cfa %rsp, 16
// +         xorl    %eax, %eax
// +         .cfi_def_cfa %rbp, 16
// | it: 1 of 1 function has a wrong row; all 15 instructions were executed.
// | error `xorl    %eax, %eax`, at -1, 9: `.cfi_def_cfa %rsp, 16`; f < no code (the word at CFA-328); tried: it makes 1 instruction right and none wrong
// | f+0x1a (xorl %eax, %eax): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rbp+16 here: write `.cfi_def_cfa %rbp, 16` for `.cfi_def_cfa %rsp, 16` in line 14 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 15, 12 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 15 instructions were executed.
// case: given back once more
// - 1:      leave
// + 1:      movq %rbp, %rsp
// +         movq %rbp, %rsp
// -         .cfi_remember_state
// +         .cfi_remember_state
// +         .cfi_def_cfa %rsp, 16
// +         nop
// +         popq %rbp
// | it: every row is right; all 17 instructions were executed.
// | f: 17, 14 executed, 3 forced, all came back

        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andl    $63, %edi
        leaq    15(,%rdi,4), %rax
        andq    $-16, %rax
        subq    %rax, %rsp
        xorl    %eax, %eax
        testl   %eax, %eax
        jne     2f
1:      leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        ret
2:      .cfi_restore_state
        movl    $3, %eax
        nop
        jmp     1b
        .cfi_endproc
        .size   f, .-f
