// A call of what the linker does not find: it comes to the next instruction, so nobody was called and nobody returns.
// What runs behind it runs in the caller, up to a place that another way leads to as well.
//
// case: the CFA is told wrong behind it
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `b 1b`, at -3, 9: `.cfi_adjust_cfa_offset -32`; f < caller < no code (the word at CFA+272); tried: it makes 1 instruction right and none wrong
// | f+0x20 (b 1b): the caller is found, and who called it is lost: the row says CFA = sp+64, the true CFA is sp+32 here: write `.cfi_adjust_cfa_offset -64` for `.cfi_adjust_cfa_offset -32` in line 20 (.eh_frame; seen when it was executed)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

        .text
        .globl f
        .hidden gone
        .type f, %function
f:      .cfi_startproc
        stp x1, x2, [sp, -32]!
        .cfi_adjust_cfa_offset 32
        cbnz x0, 2f
1:      ldp x1, x2, [sp], 32
        .cfi_adjust_cfa_offset -32
        ret
2:      .cfi_adjust_cfa_offset 32
        stp x29, x30, [sp, -64]!
        .cfi_adjust_cfa_offset 64
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x0, x1
        bl gone
        ldp x29, x30, [sp], 64
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        b 1b
        .cfi_endproc
        .size f, .-f
