// A large frame by a constant in a register counts as any other.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 6 instructions were executed.
// | f: 6, 6 executed, all came back

        .globl f
        .type f, @function
f:      .cfi_startproc
        mov     x16, #0x5000
        movk    x16, #1, lsl #16
        sub     sp, sp, x16
        .cfi_adjust_cfa_offset 0x15000
        add     x0, sp, #16
        add     sp, sp, x16
        .cfi_adjust_cfa_offset -0x15000
        ret
        .cfi_endproc
        .size f, .-f
