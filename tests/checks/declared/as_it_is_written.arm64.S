// A state that is remembered in the wrong place: the directive moves, for a second one could not be assembled.
//
// case: every row is right
// | it: every row is right; all 12 instructions were executed.
// | f: 12, 8 executed, 4 forced, all came back
// case: the state is remembered behind what gives the registers back
// -         .cfi_remember_state
// -         .cfi_restore x30
// +         .cfi_restore x30
// -         .cfi_def_cfa_offset 0
// -         ret
// +         .cfi_def_cfa_offset 0
// +         .cfi_remember_state
// +         ret
// | it: 1 of 1 function has a wrong row; all 12 instructions were executed.
// | error `mov x29, 1`, at -9, 9: `ldp x29, x30, [sp], 32`; f < caller < no code (a word of the caller's frame); tried: it makes 4 instructions right and none wrong
// | f+0x20 (mov x29, 1): the caller is found, and who called it is lost: the row says CFA = sp+0, the true CFA is sp+32 here; the row says x19 is still in x19, the caller's x19 is at CFA-16: move `.cfi_remember_state` from line 21 behind line 16 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 12, 12 executed, all came back
// | as is advised: it: every row is right; all 12 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        stp x29, x30, [sp, -32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str x19, [sp, 16]
        .cfi_offset x19, -16
        mov x19, x0
        cbz x1, .Lother
        add x0, x19, 1
.Lend:
        ldr x19, [sp, 16]
        ldp x29, x30, [sp], 32
        .cfi_remember_state
        .cfi_restore x30
        .cfi_restore x29
        .cfi_restore x19
        .cfi_def_cfa_offset 0
        ret
.Lother:
        .cfi_restore_state
        mov x29, 1
        mov x30, 2
        add x0, x19, x29
        b .Lend
        .cfi_endproc
        .size f, .-f
