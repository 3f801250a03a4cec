// set_jump(buffer) = 0, or what long_jump gives it
.type set_jump, %function
set_jump:
    .cfi_startproc
    stp x19, x20, [x0]
    stp x21, x22, [x0, #0x10]
    stp x23, x24, [x0, #0x20]
    stp x25, x26, [x0, #0x30]
    stp x27, x28, [x0, #0x40]
    stp x29, x30, [x0, #0x50]
    stp d8, d9, [x0, #0x60]
    stp d10, d11, [x0, #0x70]
    stp d12, d13, [x0, #0x80]
    stp d14, d15, [x0, #0x90]
    mov x9, sp
    str x9, [x0, #0xa0]
    mov x0, #0
    ret
    .cfi_endproc
.size set_jump, . - set_jump

// long_jump(buffer, value): what is loaded is the target's, and the caller's values are lost
.type long_jump, %function
long_jump:
    .cfi_startproc
    ldp x19, x20, [x0]
    .cfi_undefined x19
    .cfi_undefined x20
    ldp x21, x22, [x0, #0x10]
    .cfi_undefined x21
    .cfi_undefined x22
    ldp x23, x24, [x0, #0x20]
    .cfi_undefined x23
    .cfi_undefined x24
    ldp x25, x26, [x0, #0x30]
    .cfi_undefined x25
    .cfi_undefined x26
    ldp x27, x28, [x0, #0x40]
    .cfi_undefined x27
    .cfi_undefined x28
    ldp d8, d9, [x0, #0x60]
    .cfi_undefined d8
    .cfi_undefined d9
    ldp d10, d11, [x0, #0x70]
    .cfi_undefined d10
    .cfi_undefined d11
    ldp d12, d13, [x0, #0x80]
    .cfi_undefined d12
    .cfi_undefined d13
    ldp d14, d15, [x0, #0x90]
    .cfi_undefined d14
    .cfi_undefined d15
    ldr x9, [x0, #0xa0]
    ldp x29, x10, [x0, #0x50]
    .cfi_undefined x29
    mov x0, x1
jumping:
    mov sp, x9
    br x10
    .cfi_endproc
.size long_jump, . - long_jump
