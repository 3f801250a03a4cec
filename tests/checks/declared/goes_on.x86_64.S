// Behind the call that does not come back stands code that another branch leads to, with another frame.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 11 instructions were executed.
// | f: 11, 7 executed, 4 forced, some came back
// | dropped 3: a jump to where no code is
// case: a wrong offset behind it
// -         .cfi_def_cfa_offset 8
// +         .cfi_def_cfa_offset 24
// | it: 1 of 1 function has a wrong row; all 11 instructions were executed.
// | error `ret`, at -1, 9: `.cfi_def_cfa_offset 24`; f < no code (the word at CFA+8); tried: it makes 1 instruction right and none wrong
// | f+0x18 (ret): the caller is lost: the row says CFA = %rsp+24, the true CFA is %rsp+8 here: write `.cfi_def_cfa_offset 8` for `.cfi_def_cfa_offset 24` in line 21 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 11, 7 executed, 4 forced, some came back
// | dropped 3: a jump to where no code is
// | as is advised: it: every row is right; all 11 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl %edi, %ebx
        cmpl $3, %edi
        je 1f
        pushq %r12
        .cfi_remember_state
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        xorl %r12d, %r12d
        call gives_up
1:      .cfi_restore_state
        addl $2, %ebx
        movl %ebx, %eax
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
