// libffi's `ffi_call_SYSV`: the frame lies where an argument says, and its CFA is behind it.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 2 of 6 instructions were executed (33.3 %), 4 undecided, in calls.
// | calls: 6, 2 executed, 4 never, all came back
// | note: 4 instructions are undecided, though executed: what was seen there proves no row right or wrong
// case: another slot
// -         .cfi_rel_offset x30, 8
// +         .cfi_rel_offset x30, 16
// | it: 1 of 1 function has a wrong row; all 6 instructions were executed.
// | error `mov x9, x29`, at -3, 9: `.cfi_def_cfa x1, 0`; calls < no code (a word that lies elsewhere); tried: it makes 4 instructions right and none wrong
// | calls+0x4 (mov x9, x29): the caller is lost: the row says CFA = x1+0, the true CFA is sp+0 here; the row says x30 is at CFA+16, x30 still has the caller's value; the row says x29 is at CFA+0, x29 still has the caller's value: write `.cfi_def_cfa sp, 0` for `.cfi_def_cfa x1, 0` in line 6, take out `.cfi_rel_offset x29, 0` in line 7, and `.cfi_rel_offset x30, 16` in line 8 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | error `add x0, x0, #1`, at -1, 9: `.cfi_def_cfa_register x29`; calls < no code (a word that lies elsewhere); tried: it makes 2 instructions right and none wrong
// | calls+0xc (add x0, x0, #1): the caller is lost: the row says CFA = x29+0, the true CFA is sp+0 here; the row says x29 is at CFA+0, the caller's x29 is in x9: write `.cfi_register x29, x9` for `.cfi_def_cfa_register x29` in line 11 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | calls: 6, 6 executed, all came back
// | as is advised: it: every row is right; all 6 instructions were executed.

        .text
        .globl calls
        .type calls, %function
calls:  .cfi_startproc
        stp x29, x30, [x1]
        .cfi_def_cfa x1, 0
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x9, x29
        mov x29, x1
        .cfi_def_cfa_register x29
        add x0, x0, #1
        ldp x29, x30, [x29]
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size calls, .-calls
