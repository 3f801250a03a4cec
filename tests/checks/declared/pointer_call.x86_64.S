// What is called by a pointer may never return.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 7 instructions were executed.
// | f: 7, 4 executed, 3 forced, some came back
// | dropped 3: a jump to where no code is
// case: code behind it has a frame that no row tells of
// - 2:      ret
// + 2:      pushq %rbx
// +         popq %rbx
// +         ret
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `popq %rbx`, at -1, 9: `pushq %rbx`; f < no code (the caller's %rbx); tried: it makes 1 instruction right and none wrong
// | f+0xa (popq %rbx): the caller is lost: the row says CFA = %rsp+8, the true CFA is %rsp+16 here: add `.cfi_def_cfa_offset 16` and `.cfi_offset %rbx, -16` behind line 11, and `.cfi_def_cfa_offset 8` and `.cfi_restore %rbx` behind line 12 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 9, 4 executed, 5 forced, some came back
// | dropped 3: a jump to where no code is
// | as is advised: it: every row is right; all 9 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        testq %rdi, %rdi
        jz 3f
        pushq %rax
        .cfi_def_cfa_offset 16
        call *8(%rsi)
        .cfi_def_cfa_offset 8
2:      ret
3:      nop
        jmp 2b
        .cfi_endproc
        .size f, . - f
