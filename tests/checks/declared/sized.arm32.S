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
// +         .cfi_def_cfa sp, 16
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `mov     r0, #3`, at -1, 9: `.cfi_def_cfa sp, 16`; f < no code (the word at CFA+4); tried: it makes 3 instructions right and none wrong
// | f+0x28 (mov r0, #3): the caller is lost: the row says CFA = sp+16, the true CFA is r11+8 here: write `.cfi_def_cfa r11, 8` for `.cfi_def_cfa sp, 16` in line 23 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 13, 10 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.
// case: the size is a callee's answer
// -         and     r0, r0, #63
// +         bl elsewhere
// | it: every row is right; all 13 instructions were executed.
// | f: 13, 10 executed, 3 forced, all came back
// case: the distance from SP for that answer, which is 0
// -         and     r0, r0, #63
// +         bl elsewhere
// - 2:      .cfi_restore_state
// + 2:      .cfi_restore_state
// +         .cfi_def_cfa sp, 8
// | it: 1 of 1 function has a wrong row; all 13 instructions were executed.
// | error `mov     r0, #3`, at -1, 9: `.cfi_def_cfa sp, 8`; f < no code (the word at CFA-644); tried: it makes 3 instructions right and none wrong
// | f+0x28 (mov r0, #3): the caller is lost: the row says CFA = sp+8, the true CFA is r11+8 here: write `.cfi_def_cfa r11, 8` for `.cfi_def_cfa sp, 8` in line 23 (.eh_frame; seen on a forced path: a branch was turned, or a call answered by us; 2 more instructions by the same cause)
// | f: 13, 10 executed, 3 forced, all came back
// | as is advised: it: every row is right; all 13 instructions were executed.

        .syntax unified
        .arm
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        push    {r11, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset r11, -8
        .cfi_offset lr, -4
        mov     r11, sp
        .cfi_def_cfa_register r11
        and     r0, r0, #63
        lsl     r3, r0, #3
        sub     sp, sp, r3
        mov     r0, #0
        cmp     r0, #0
        bne     2f
1:      mov     sp, r11
        .cfi_remember_state
        .cfi_def_cfa_register sp
        pop     {r11, pc}
2:      .cfi_restore_state
        mov     r0, #3
        nop
        b       1b
        .cfi_endproc
        .size   f, .-f
