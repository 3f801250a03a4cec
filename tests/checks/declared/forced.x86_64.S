// Code that no natural run reaches is forced, and said so.
// ! {"alone": true, "runs": 100, "steps": 500}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `pop %rbx`, at -1, 9: `push %rbx`; f < no code (the caller's %rbx); tried: it makes 1 instruction right and none wrong
// | f+0xa (pop %rbx): the caller is lost: the row says CFA = %rsp+0x8, the true CFA is %rsp+0x10 here: add `.cfi_def_cfa_offset 0x10` and `.cfi_offset %rbx, -0x10` behind line 7, and `.cfi_def_cfa_offset 0x8` and `.cfi_restore %rbx` behind line 8 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us)
// | f: 5, 3 executed, 2 forced, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        cmp $0x12345678, %rdi
        jne 1f
        push %rbx
        pop %rbx
1:      ret
        .cfi_endproc
        .size f, .-f
