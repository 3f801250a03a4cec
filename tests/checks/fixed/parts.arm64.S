// Registers are named by a part, as compilers do.
//
// case: another one's slot
// -         .cfi_offset w19, -32
// +         .cfi_offset w19, -24
// case: a wrong slot of a vector register
// -         .cfi_offset b8, -16
// +         .cfi_offset b8, -24
// case: nothing is said of one
// -         .cfi_offset w20, -24

        .text
        .globl f
        .type f, %function
f:
        .cfi_startproc
        stp x19, x20, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset w19, -32
        .cfi_offset w20, -24
        str d8, [sp, #16]
        .cfi_offset b8, -16
        mov x19, x0
        mov x20, x1
        fmov d8, x0
        fmov x2, d8
        add x0, x19, x20
        ldr d8, [sp, #16]
        .cfi_restore b8
        ldp x19, x20, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore w19
        .cfi_restore w20
        ret
        .cfi_endproc
        .size f,.-f
