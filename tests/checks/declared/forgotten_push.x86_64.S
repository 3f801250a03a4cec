// A push that the table was not told of is one finding.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 8 instructions were executed.
// | error `movq %rdi, %rbx`, at -1, 9: `pushq %rbx`; f < no code (the caller's %rbx); tried: it makes 6 instructions right and none wrong
// | f+0x1 (movq %rdi, %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %rbx, -16` behind line 4, and `.cfi_def_cfa_offset 8` and `.cfi_restore %rbx` behind line 10 (.eh_frame; seen when it was executed; 5 more instructions by the same cause)
// | f: 8, 8 executed, all came back
// | as is advised: it: every row is right; all 8 instructions were executed.

        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        movq %rdi, %rbx
        testq %rdi, %rdi
        je 1f
        incq %rbx
1:      movq %rbx, %rax
        popq %rbx
        ret
        .cfi_endproc
        .size f, .-f
