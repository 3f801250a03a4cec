// libffi's `ffi_call_SYSV`: the frame lies where an argument says, and its CFA is behind it. The code behind a jump that
// nobody follows comes back to the caller's stack by itself, whatever its row counts from SP.
//
// case: as it is
// | 1 of 2 agree
// | cannot tell: a register: whether it is where the row says is not known
// | f+0x24 (row of f+0x24): the row says x29 is at CFA-0x28; there is another value, not the caller's, coming from f+0x20

        .globl f, g
        .type g, %function
g:      .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      f
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size g, .-g
        .type f, %function
f:      .cfi_startproc
        .cfi_def_cfa x1, 40
        stp     x29, x30, [x1]
        mov     x9, sp
        str     x9, [x1, #32]
        mov     x29, x1
        mov     sp, x0
        .cfi_def_cfa x29, 40
        .cfi_offset x29, -40
        .cfi_offset x30, -32
        blr     x2
        ldr     x9, [x29, #32]
        mov     sp, x9
        mov     x2, x29
        .cfi_def_cfa sp, 40
        ldp     x29, x30, [x29]
        adr     x5, 1f
        add     x5, x5, x4, lsl #3
        br      x5
1:      b       2f
        nop
        str     x0, [x3]
        b       2f
        str     w0, [x3]
2:      ret
        .cfi_endproc
        .size f, .-f
