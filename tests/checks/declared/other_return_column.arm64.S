// A helper that gets its return address in a register of its own, which its rows name as the column: no call leads there.
//
// case: as it is
// | it: every row that was executed is right; 4 of 9 instructions were executed (44.4 %), 5 undecided, in helper.
// | f: 4, 4 executed, all came back
// | not called: helper: 5, 5 never
// | note: not called, 1 place of code (helper): what stands there is no function that someone calls
// case: a function by the architecture's column
// -         .cfi_return_column x15
// +         .cfi_return_column x30
// | it: every row is right; all 9 instructions were executed.
// | helper: 5, 5 executed, some came back
// | f: 4, 4 executed, all came back

        .text
        .type helper, %function
helper: .cfi_startproc simple
        .cfi_return_column x15
        .cfi_def_cfa sp, 0
        sub sp, sp, #16
        .cfi_def_cfa_offset 16
        str x0, [sp]
        ldr x0, [sp]
        add sp, sp, #16
        .cfi_def_cfa_offset 0
        br x15
        .cfi_endproc
        .size helper, .-helper

        .globl f
        .type f, %function
f:      .cfi_startproc
        adr x15, 1f
        b helper
1:      add x0, x0, #1
        ret
        .cfi_endproc
        .size f, .-f
