// summary: every callee-saved register pushed, clobbered and restored, with a call while all are clobbered
// exit: 40
// frames: keeper_body = keeper, main, _start
// frames: clobber_body = clobber, keeper, main, _start
// frames: clobbered = clobber, keeper, main, _start
// frames: leaf = leaf, clobber, keeper, main, _start
// frames: reuse = clobber, keeper, main, _start
// frames: keeper_check = keeper, main, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl keeper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// keeper() = clobber(), with a bit set for each register that did not keep its value across the call
.type keeper, %function
keeper:
    .cfi_startproc
    stp x29, x30, [sp, #-0xa0]!
    .cfi_def_cfa_offset 0xa0
    .cfi_offset x29, -0xa0
    .cfi_offset x30, -0x98
    stp x19, x20, [sp, #0x10]
    .cfi_offset x19, -0x90
    .cfi_offset x20, -0x88
    stp x21, x22, [sp, #0x20]
    .cfi_offset x21, -0x80
    .cfi_offset x22, -0x78
    stp x23, x24, [sp, #0x30]
    .cfi_offset x23, -0x70
    .cfi_offset x24, -0x68
    stp x25, x26, [sp, #0x40]
    .cfi_offset x25, -0x60
    .cfi_offset x26, -0x58
    stp x27, x28, [sp, #0x50]
    .cfi_offset x27, -0x50
    .cfi_offset x28, -0x48
    stp d8, d9, [sp, #0x60]
    .cfi_offset d8, -0x40
    .cfi_offset d9, -0x38
    stp d10, d11, [sp, #0x70]
    .cfi_offset d10, -0x30
    .cfi_offset d11, -0x28
    stp d12, d13, [sp, #0x80]
    .cfi_offset d12, -0x20
    .cfi_offset d13, -0x18
    stp d14, d15, [sp, #0x90]
    .cfi_offset d14, -0x10
    .cfi_offset d15, -8
keeper_body:
    mov x19, #1
    mov x20, #2
    mov x21, #3
    mov x22, #4
    mov x23, #5
    mov x24, #6
    mov x25, #7
    mov x26, #8
    mov x27, #9
    mov x28, #0xa
    mov x29, #0xb
    mov x9, #0x28
    fmov d8, x9
    mov x9, #0x29
    fmov d9, x9
    mov x9, #0x2a
    fmov d10, x9
    mov x9, #0x2b
    fmov d11, x9
    mov x9, #0x2c
    fmov d12, x9
    mov x9, #0x2d
    fmov d13, x9
    mov x9, #0x2e
    fmov d14, x9
    mov x9, #0x2f
    fmov d15, x9
    bl clobber
keeper_check:
    sub x9, x19, #1
    orr x0, x0, x9
    sub x9, x20, #2
    orr x0, x0, x9
    sub x9, x21, #3
    orr x0, x0, x9
    sub x9, x22, #4
    orr x0, x0, x9
    sub x9, x23, #5
    orr x0, x0, x9
    sub x9, x24, #6
    orr x0, x0, x9
    sub x9, x25, #7
    orr x0, x0, x9
    sub x9, x26, #8
    orr x0, x0, x9
    sub x9, x27, #9
    orr x0, x0, x9
    sub x9, x28, #0xa
    orr x0, x0, x9
    sub x9, x29, #0xb
    orr x0, x0, x9
    fmov x9, d8
    sub x9, x9, #0x28
    orr x0, x0, x9
    fmov x9, d9
    sub x9, x9, #0x29
    orr x0, x0, x9
    fmov x9, d10
    sub x9, x9, #0x2a
    orr x0, x0, x9
    fmov x9, d11
    sub x9, x9, #0x2b
    orr x0, x0, x9
    fmov x9, d12
    sub x9, x9, #0x2c
    orr x0, x0, x9
    fmov x9, d13
    sub x9, x9, #0x2d
    orr x0, x0, x9
    fmov x9, d14
    sub x9, x9, #0x2e
    orr x0, x0, x9
    fmov x9, d15
    sub x9, x9, #0x2f
    orr x0, x0, x9
    ldp d14, d15, [sp, #0x90]
    .cfi_restore d14
    .cfi_restore d15
    ldp d12, d13, [sp, #0x80]
    .cfi_restore d12
    .cfi_restore d13
    ldp d10, d11, [sp, #0x70]
    .cfi_restore d10
    .cfi_restore d11
    ldp d8, d9, [sp, #0x60]
    .cfi_restore d8
    .cfi_restore d9
    ldp x27, x28, [sp, #0x50]
    .cfi_restore x27
    .cfi_restore x28
    ldp x25, x26, [sp, #0x40]
    .cfi_restore x25
    .cfi_restore x26
    ldp x23, x24, [sp, #0x30]
    .cfi_restore x23
    .cfi_restore x24
    ldp x21, x22, [sp, #0x20]
    .cfi_restore x21
    .cfi_restore x22
    ldp x19, x20, [sp, #0x10]
    .cfi_restore x19
    .cfi_restore x20
    ldp x29, x30, [sp], #0xa0
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size keeper, . - keeper

// clobber() = leaf(39), called with every callee-saved register holding something else
.type clobber, %function
clobber:
    .cfi_startproc
    stp x29, x30, [sp, #-0xa0]!
    .cfi_def_cfa_offset 0xa0
    .cfi_offset x29, -0xa0
    .cfi_offset x30, -0x98
    stp x19, x20, [sp, #0x10]
    .cfi_offset x19, -0x90
    .cfi_offset x20, -0x88
    stp x21, x22, [sp, #0x20]
    .cfi_offset x21, -0x80
    .cfi_offset x22, -0x78
    stp x23, x24, [sp, #0x30]
    .cfi_offset x23, -0x70
    .cfi_offset x24, -0x68
    stp x25, x26, [sp, #0x40]
    .cfi_offset x25, -0x60
    .cfi_offset x26, -0x58
    stp x27, x28, [sp, #0x50]
    .cfi_offset x27, -0x50
    .cfi_offset x28, -0x48
    stp d8, d9, [sp, #0x60]
    .cfi_offset d8, -0x40
    .cfi_offset d9, -0x38
    stp d10, d11, [sp, #0x70]
    .cfi_offset d10, -0x30
    .cfi_offset d11, -0x28
    stp d12, d13, [sp, #0x80]
    .cfi_offset d12, -0x20
    .cfi_offset d13, -0x18
    stp d14, d15, [sp, #0x90]
    .cfi_offset d14, -0x10
    .cfi_offset d15, -8
clobber_body:
    mov x19, #0x11
    mov x20, #0x12
    mov x21, #0x13
    mov x22, #0x14
    mov x23, #0x15
    mov x24, #0x16
    mov x25, #0x17
    mov x26, #0x18
    mov x27, #0x19
    mov x28, #0x1a
    mov x29, #0x1b
    mov x9, #0x38
    fmov d8, x9
    mov x9, #0x39
    fmov d9, x9
    mov x9, #0x3a
    fmov d10, x9
    mov x9, #0x3b
    fmov d11, x9
    mov x9, #0x3c
    fmov d12, x9
    mov x9, #0x3d
    fmov d13, x9
    mov x9, #0x3e
    fmov d14, x9
    mov x9, #0x3f
    fmov d15, x9
clobbered:
    add x0, x19, #0x16
    bl leaf
    ldp d14, d15, [sp, #0x90]
    .cfi_restore d14
    .cfi_restore d15
    ldp d12, d13, [sp, #0x80]
    .cfi_restore d12
    .cfi_restore d13
    ldp d10, d11, [sp, #0x70]
    .cfi_restore d10
    .cfi_restore d11
    ldp d8, d9, [sp, #0x60]
    .cfi_restore d8
    .cfi_restore d9
    ldp x27, x28, [sp, #0x50]
    .cfi_restore x27
    .cfi_restore x28
    ldp x25, x26, [sp, #0x40]
    .cfi_restore x25
    .cfi_restore x26
    ldp x23, x24, [sp, #0x30]
    .cfi_restore x23
    .cfi_restore x24
    ldp x21, x22, [sp, #0x20]
    .cfi_restore x21
    .cfi_restore x22
    ldp x19, x20, [sp, #0x10]
    .cfi_restore x19
    .cfi_restore x20
    ldp x29, x30, [sp], #0xa0
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    // The registers are back and their slots are written over: a table that still points at them is wrong from here on.
    sub sp, sp, #0xa0
    .cfi_def_cfa_offset 0xa0
    stp xzr, xzr, [sp]
    stp xzr, xzr, [sp, #0x10]
    stp xzr, xzr, [sp, #0x20]
    stp xzr, xzr, [sp, #0x30]
    stp xzr, xzr, [sp, #0x40]
    stp xzr, xzr, [sp, #0x50]
    stp xzr, xzr, [sp, #0x60]
    stp xzr, xzr, [sp, #0x70]
    stp xzr, xzr, [sp, #0x80]
    stp xzr, xzr, [sp, #0x90]
reuse:
    add sp, sp, #0xa0
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size clobber, . - clobber

// leaf(x) = x + 1
.type leaf, %function
leaf:
    .cfi_startproc
    add x0, x0, #1
    ret
    .cfi_endproc
.size leaf, . - leaf
