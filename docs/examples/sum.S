// The sum of n words. One directive is missing: testbed check docs/examples/sum.S
        .text
        .globl  sum
        .type   sum, %function
sum:
        .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        mov     x19, #0
        cbz     x1, 2f
1:      ldr     x2, [x0], #8
        add     x19, x19, x2
        subs    x1, x1, #1
        b.ne    1b
2:      mov     x0, x19
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   sum, .-sum
