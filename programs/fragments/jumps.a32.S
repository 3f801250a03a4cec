// set_jump(buffer) = 0, or what long_jump gives it
.type set_jump, %function
set_jump:
    .fnstart
    .cfi_startproc
    str r4, [r0]
    str r5, [r0, #4]
    str r6, [r0, #8]
    str r7, [r0, #0xc]
    str r8, [r0, #0x10]
    str r9, [r0, #0x14]
    str r10, [r0, #0x18]
    str r11, [r0, #0x1c]
    mov r12, sp
    str r12, [r0, #0x20]
    str lr, [r0, #0x24]
    vstr d8, [r0, #0x28]
    vstr d9, [r0, #0x30]
    vstr d10, [r0, #0x38]
    vstr d11, [r0, #0x40]
    vstr d12, [r0, #0x48]
    vstr d13, [r0, #0x50]
    vstr d14, [r0, #0x58]
    vstr d15, [r0, #0x60]
    mov r0, #0
    bx lr
    .cfi_endproc
    .fnend
.size set_jump, . - set_jump

// long_jump(buffer, value): what is loaded is the target's, and the caller's values are lost
.type long_jump, %function
long_jump:
    .fnstart
    .cfi_startproc
    vldr d8, [r0, #0x28]
    .cfi_undefined d8
    vldr d9, [r0, #0x30]
    .cfi_undefined d9
    vldr d10, [r0, #0x38]
    .cfi_undefined d10
    vldr d11, [r0, #0x40]
    .cfi_undefined d11
    vldr d12, [r0, #0x48]
    .cfi_undefined d12
    vldr d13, [r0, #0x50]
    .cfi_undefined d13
    vldr d14, [r0, #0x58]
    .cfi_undefined d14
    vldr d15, [r0, #0x60]
    .cfi_undefined d15
    ldr r4, [r0, #0x0]
    .cfi_undefined r4
    ldr r5, [r0, #0x4]
    .cfi_undefined r5
    ldr r6, [r0, #0x8]
    .cfi_undefined r6
    ldr r8, [r0, #0x10]
    .cfi_undefined r8
    ldr r9, [r0, #0x14]
    .cfi_undefined r9
    ldr r10, [r0, #0x18]
    .cfi_undefined r10
    ldr r12, [r0, #0x20]
    ldr r2, [r0, #0x24]
    ldr r7, [r0, #0xc]
    .cfi_undefined r7
    ldr r11, [r0, #0x1c]
    .cfi_undefined r11
    mov r0, r1
jumping:
    mov sp, r12
    bx r2
    .cfi_endproc
    .fnend
.size long_jump, . - long_jump
