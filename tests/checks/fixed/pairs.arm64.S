// Pairs of registers, and an end in the middle of the function.
// ! {"runs": 20, "steps": 100}
//
// case: a frame that is not told
// -         .cfi_def_cfa_offset 32
// -         .cfi_offset x29, -32
// -         .cfi_offset x30, -24
// case: the other register's slot
// -         .cfi_offset x19, -16
// +         .cfi_offset x20, -16
// case: the state is not given back
// -         .cfi_restore_state
// case: a number
// -         .cfi_def_cfa_offset 32
// +         .cfi_def_cfa_offset 48
// case: the slot of a link register that is not loaded again
// -         .cfi_offset x30, -40
// +         .cfi_offset x30, -24

        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        cbz     x1, 1f
        add     x0, x19, #1
        ldr     x19, [sp, #16]
        .cfi_remember_state
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
1:
        .cfi_restore_state
        bl      g
        add     x0, x0, x19
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   f, .-f
        .globl  g
        .type   g, %function
g:      .cfi_startproc
        mov     x0, #1
        ret
        .cfi_endproc
        .size   g, .-g
        .globl  h
        .type   h, %function
h:      .cfi_startproc
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        str     x0, [sp, #24]
        ldr     x29, [sp], #48
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   h, .-h
