// Saved registers that go where nobody follows them: that is not known, and no mistake.
//
// case: through an index, a vector
// | 0 of 2 agree
// | cannot tell: a register: whether it is where the row says is not known
// | by_index+0xc (row of by_index+0xc): the row says x19 is at CFA-0x20; there is something that is not known, coming from by_index+0x8
// | cannot tell: a register: whether it is where the row says is not known
// | by_vector+0x10 (row of by_vector+0x10): the row says x21 is at CFA-0x20; there is something that is not known, coming from by_vector+0xc

        .globl by_index, by_vector
        .type by_index, %function
by_index:
        .cfi_startproc
        sub     sp, sp, #0x40
        .cfi_def_cfa_offset 0x40
        mov     x9, #0x20
        str     x19, [sp, x9]
        .cfi_offset x19, -0x20
        mov     x19, x0
        ldr     x19, [sp, x9]
        .cfi_restore x19
        add     sp, sp, #0x40
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size by_index, .-by_index
        .type by_vector, %function
by_vector:
        .cfi_startproc
        sub     sp, sp, #0x20
        .cfi_def_cfa_offset 0x20
        fmov    d0, x21
        mov     v0.d[1], x22
        str     q0, [sp]
        .cfi_offset x21, -0x20
        .cfi_offset x22, -0x18
        mov     x21, xzr
        mov     x22, xzr
        ldp     x21, x22, [sp]
        .cfi_restore x21
        .cfi_restore x22
        add     sp, sp, #0x20
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size by_vector, .-by_vector
