// A large frame by a constant in a register counts as any other.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row is right; all 6 instructions were executed.
// | f: 6, 6 executed, all came back

        .globl f
        .type f, %function
        .syntax unified
        .arm
f:      .cfi_startproc
        ldr     r3, =0x5008
        sub     sp, sp, r3
        .cfi_adjust_cfa_offset 0x5008
        add     r0, sp, #16
        ldr     r3, =0x5008
        add     sp, sp, r3
        .cfi_adjust_cfa_offset -0x5008
        bx      lr
        .cfi_endproc
        .ltorg
        .size f, .-f
