// A32: general and vector registers in one frame, a conditional return, a jump table, data among code.
//
// case: as it is
// | 2 of 2 agree
// case: d9 is not told
// -         .cfi_offset d9, -0x18
// +         nop
// | 1 of 2 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0x10 (row of f+0x8): the row says d9 is unchanged; there is another value, not the caller's, coming from f+0xc
// case: the return address is told where it is not
// -         .cfi_offset lr, -4
// +         .cfi_offset lr, -12
// | 1 of 2 agree
// | suspect: a register is not where the row says it is saved
// | f+0x4 (row of f+0x4): the row says lr is at CFA-0xc; there is the caller's r5, coming from f+0x0; wrong besides: r5
// case: the frame of vectors is told to be there too long
// -         .cfi_def_cfa_offset 16
// -         ldmeq   sp!, {r4, r5, r11, pc}
// +         ldmeq   sp!, {r4, r5, r11, pc}
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x24 (row of f+0x24): the row says CFA = sp+0x20; sp is CFA-0x10, coming from f+0x20
// case: the large frame is told too small
// -         .cfi_def_cfa_offset 0x1010
// +         .cfi_def_cfa_offset 0x1008
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | large+0x10 (row of large+0x10): the row says CFA = sp+0x1008; sp is CFA-0x1010, coming from large+0xc; wrong at a call, too

        .syntax unified
        .arm
        .cfi_sections .debug_frame
        .globl f
        .type f, %function
f:      .cfi_startproc
        push    {r4, r5, r11, lr}
        .cfi_def_cfa_offset 16
        .cfi_offset r4, -16
        .cfi_offset r5, -12
        .cfi_offset r11, -8
        .cfi_offset lr, -4
        vpush   {d8, d9}
        .cfi_def_cfa_offset 32
        .cfi_offset d8, -0x20
        .cfi_offset d9, -0x18
        vmov.f64 d9, d0
        movs    r4, r0
        ldr     r5, =f
        blxne   r1
        vadd.f64 d0, d9, d9
        cmp     r4, #2
        vpop    {d8, d9}
        .cfi_restore d8
        .cfi_restore d9
        .cfi_def_cfa_offset 16
        ldmeq   sp!, {r4, r5, r11, pc}
        cmp     r4, #3
        ldrls   pc, [pc, r4, lsl #2]
        b       3f
        .word   1f
        .word   2f
        .word   3f
        .word   1f
1:      add     r0, r0, #1
2:      add     r0, r0, #2
3:      ldr     r11, [sp, #8]
        .cfi_restore r11
        ldr     lr, [sp, #12]
        .cfi_restore lr
        pop     {r4, r5}
        .cfi_def_cfa_offset 8
        .cfi_restore r4
        .cfi_restore r5
        add     sp, sp, #8
        .cfi_def_cfa_offset 0
        bx      lr
        .cfi_endproc
        .size f, .-f
        .ltorg

        .type large, %function
large:  .cfi_startproc
        stmdb   sp!, {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset 4, -8
        .cfi_offset 14, -4
        movw    r12, #0xeff8
        movt    r12, #0xffff
        add     sp, sp, r12
        .cfi_def_cfa_offset 0x1010
        mov     r0, sp
        bl      f
        add     sp, sp, #0x1000
        .cfi_def_cfa_offset 16
        add     sp, sp, #8
        .cfi_def_cfa_offset 8
        ldm     sp!, {r4, pc}
        .cfi_endproc
        .size large, .-large
