// A register that the rows have above the CFA was put there by who enters: no call does, so nothing is known of it.
// ! {"runs": 40, "steps": 200}
//
// case: the linkage table has put the return address above
// | it: every row is right but those of 1 function for another entry than a call; all 5 instructions were executed.
// | note `sub sp, sp, #16`, at -2, 9: `hint #34`
// | f+0x4 (sub sp, sp, #16): the row says x30 is at CFA+8, and no call puts it there, above the frame: it supposes another entry, as by a jump (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, some came back
// case: the function itself has put one there
// -         .cfi_rel_offset x30, 8
// +         str x19, [sp, #8]
// +         .cfi_offset x19, 8
// +         mov x19, x0
// +         ldr x19, [sp, #8]
// +         .cfi_restore x19
// | it: every row is right; all 8 instructions were executed.
// | f: 8, 8 executed, some came back
// case: it returns by what a call leaves: it is called, and the row is wrong
// -         br x16
// +         ret
// | it: 1 of 1 function has a wrong row; all 5 instructions were executed.
// | error `sub sp, sp, #16`, at -1, 9: `.cfi_rel_offset x30, 8`; f < no code (the word at CFA+8); tried: it makes 4 instructions right and none wrong
// | f+0x4 (sub sp, sp, #16): the caller is lost: the row says x30 is at CFA+8, x30 still has the caller's value: take out `.cfi_rel_offset x30, 8` in line 6 (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 5, 5 executed, all came back
// | as is advised: it: every row is right; all 5 instructions were executed.

        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        hint #34
        .cfi_rel_offset x30, 8
        sub sp, sp, #16
        .cfi_adjust_cfa_offset 16
        add x0, x0, #1
        add sp, sp, #16
        .cfi_adjust_cfa_offset -16
        br x16
        .cfi_endproc
        .size f, . - f
