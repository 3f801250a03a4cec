// A function with an array of variable size, and code behind a branch that only a forced path reaches. A row
// that counts from SP behind that is proven by no call.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 10 executed, 3 forced, all came back
// case: a distance from SP that one call has
// - 2:      .cfi_restore_state
// + 2:      .cfi_restore_state
// +         .cfi_def_cfa sp, 32
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `mov     w0, #3`, at -1, 9: `.cfi_def_cfa sp, 32`; f < no code (the word at CFA+8); tried: it makes 3 instructions right and none wrong
// | f+0x28 (mov w0, #3): the caller is lost: the row says CFA = sp+32, the true CFA is x29+16 here: write `.cfi_def_cfa x29, 16` for `.cfi_def_cfa sp, 32` in line 24 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 13, 10 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: the size is a callee's answer
// -         and     x0, x0, #63
// +         bl elsewhere
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 10 executed, 3 forced, all came back
// case: the distance from SP for that answer, which is 0
// -         and     x0, x0, #63
// +         bl elsewhere
// - 2:      .cfi_restore_state
// + 2:      .cfi_restore_state
// +         .cfi_def_cfa sp, 16
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `mov     w0, #3`, at -1, 9: `.cfi_def_cfa sp, 16`; f < no code (the word at CFA-1288); tried: it makes 3 instructions right and none wrong
// | f+0x28 (mov w0, #3): the caller is lost: the row says CFA = sp+16, the true CFA is x29+16 here: write `.cfi_def_cfa x29, 16` for `.cfi_def_cfa sp, 16` in line 24 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 13, 10 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.

        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        and     x0, x0, #63
        lsl     x9, x0, #4
        sub     sp, sp, x9
        mov     w0, #0
        cbnz    w0, 2f
1:      mov     sp, x29
        .cfi_remember_state
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
2:      .cfi_restore_state
        mov     w0, #3
        nop
        b       1b
        .cfi_endproc
        .size   f, .-f
