// Every directive counts from the ones before: one that is forgotten is one finding.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row is right; all 9 instructions were executed.
// | f: 9, 9 executed, all came back
// case: the first push is not told of
// -         .cfi_adjust_cfa_offset 32
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `sub sp, sp, #16`, at -2, 9: `.cfi_rel_offset x29, 0`; f < no code (another x30 at other visits); tried: it makes 8 instructions right and none wrong
// | f+0x4 (sub sp, sp, #16): the caller is lost: the row says CFA = sp+0, the true CFA is sp+32 here; the row says x30 is at CFA+8, x30 still has the caller's value; the row says x29 is at CFA+0, x29 still has the caller's value: add `.cfi_adjust_cfa_offset 32` before line 6 (.eh_frame; seen when it was executed; 7 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: the room is not told of, which is given back
// -         .cfi_adjust_cfa_offset 16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `stp x19, x20, [sp]`, at -1, 9: `sub sp, sp, #16`; f < no code (the word at CFA-40); tried: it makes 7 instructions right and none wrong
// | f+0x8 (stp x19, x20, [sp]): the caller is lost: the row says CFA = sp+32, the true CFA is sp+48 here: add `.cfi_adjust_cfa_offset 16` behind line 9 (.eh_frame; seen when it was executed; 6 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: what gives it back is not told of
// -         .cfi_adjust_cfa_offset -16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `ldp x29, x30, [sp], #32`, at -3, 9: `ldp x19, x20, [sp], #16`; f < no code (the word at CFA-8); tried: it makes 2 instructions right and none wrong
// | f+0x1c (ldp x29, x30, [sp], #32): the caller is lost: the row says CFA = sp+48, the true CFA is sp+32 here: add `.cfi_adjust_cfa_offset -16` behind line 17 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: neither the room nor its end is told of
// -         sub sp, sp, #16
// -         .cfi_adjust_cfa_offset 16
// +         sub sp, sp, #16
// -         .cfi_adjust_cfa_offset -16
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `stp x19, x20, [sp]`, at -1, 9: `sub sp, sp, #16`; f < no code (the word at CFA-40); tried: it makes 5 instructions right and none wrong
// | f+0x8 (stp x19, x20, [sp]): the caller is lost: the row says CFA = sp+32, the true CFA is sp+48 here: add `.cfi_adjust_cfa_offset 16` behind line 9, and `.cfi_adjust_cfa_offset -16` behind line 16 (.eh_frame; seen when it was executed; 4 more instructions by the same cause)
// | f: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        stp x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        sub sp, sp, #16
        .cfi_adjust_cfa_offset 16
        stp x19, x20, [sp]
        .cfi_rel_offset x19, 0
        .cfi_rel_offset x20, 8
        mov x19, x0
        mov x20, x1
        add x0, x19, x20
        ldp x19, x20, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x19
        .cfi_restore x20
        ldp x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size f, .-f
