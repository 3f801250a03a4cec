// Thumb: low registers through high ones, IT blocks that return, a table of branches.
//
// case: as it is
// | 1 of 1 agree
// case: r8 is not told
// -         .cfi_offset r8, -0x18
// +         nop
// | 0 of 1 agree
// | suspect: a register is overwritten that the row says is unchanged
// | f+0xa (row of f+0x6): the row says r8 is unchanged; there is the caller's r0, coming from f+0x8
// case: the frame is told as gone before it is
// -         add     sp, #8
// -         .cfi_def_cfa_offset 24
// +         .cfi_def_cfa_offset 24
// +         add     sp, #8
// | 0 of 1 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | f+0x20 (row of f+0x20): the row says CFA = sp+0x18; sp is CFA-0x20, coming from f+0x1e
// case: the return address is told where it is not
// -         .cfi_offset lr, -4
// +         .cfi_offset lr, -8
// | 0 of 1 agree
// | suspect: a register is not where the row says it is saved
// | f+0x2 (row of f+0x2): the row says lr is at CFA-0x8; there is the caller's r7, coming from f+0x0; wrong besides: r7

        .syntax unified
        .thumb
        .cfi_sections .debug_frame
        .globl f
        .type f, %function
        .thumb_func
f:      .cfi_startproc
        push    {r4, r5, r6, r7, lr}
        .cfi_def_cfa_offset 20
        .cfi_offset r4, -20
        .cfi_offset r5, -16
        .cfi_offset r6, -12
        .cfi_offset r7, -8
        .cfi_offset lr, -4
        mov     r4, r8
        push    {r4}
        .cfi_def_cfa_offset 24
        .cfi_offset r8, -0x18
        mov     r8, r0
        sub     sp, #8
        .cfi_def_cfa_offset 32
        str     r1, [sp, #4]
        movs    r4, #0
        ittt    ne
        ldrne   r5, [sp, #4]
        movne   r6, r5
        blxne   r5
        cbz     r0, 1f
        tbb     [pc, r0]
2:      .byte   (1f - 2b) / 2
        .byte   (3f - 2b) / 2
        .p2align 1
3:      adds    r0, #1
1:
        add     sp, #8
        .cfi_def_cfa_offset 24
        pop     {r2}
        .cfi_def_cfa_offset 20
        mov     r8, r2
        .cfi_restore r8
        cmp     r0, #4
        it      eq
        popeq   {r4, r5, r6, r7, pc}
        ldr     r2, [sp, #16]
        mov     lr, r2
        .cfi_restore lr
        pop     {r4, r5, r6, r7}
        .cfi_def_cfa_offset 4
        .cfi_restore r4
        .cfi_restore r5
        .cfi_restore r6
        .cfi_restore r7
        add     sp, #4
        .cfi_def_cfa_offset 0
        bx      lr
        .cfi_endproc
        .size f, .-f
