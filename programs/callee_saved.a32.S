// summary: every callee-saved register pushed, clobbered and restored, with a call while all are clobbered
// exit: 40
// frames: keeper_body = keeper, main, _start
// frames: clobber_body = clobber, keeper, main, _start
// frames: clobbered = clobber, keeper, main, _start
// frames: leaf = leaf, clobber, keeper, main, _start
// frames: reuse = clobber, keeper, main, _start
// frames: keeper_check = keeper, main, _start

.syntax unified
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    bl keeper
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// keeper() = clobber(), with a bit set for each register that did not keep its value across the call
.type keeper, %function
keeper:
    .fnstart
    .cfi_startproc
    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .save {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .cfi_def_cfa_offset 0x24
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r10, -0xc
    .cfi_offset r9, -0x10
    .cfi_offset r8, -0x14
    .cfi_offset r7, -0x18
    .cfi_offset r6, -0x1c
    .cfi_offset r5, -0x20
    .cfi_offset r4, -0x24
    vpush {d8, d9, d10, d11, d12, d13, d14, d15}
    .vsave {d8, d9, d10, d11, d12, d13, d14, d15}
    .cfi_def_cfa_offset 0x64
    .cfi_offset d15, -0x2c
    .cfi_offset d14, -0x34
    .cfi_offset d13, -0x3c
    .cfi_offset d12, -0x44
    .cfi_offset d11, -0x4c
    .cfi_offset d10, -0x54
    .cfi_offset d9, -0x5c
    .cfi_offset d8, -0x64
    sub sp, sp, #4
    .pad #4
    .cfi_def_cfa_offset 0x68
keeper_body:
    mov r4, #1
    mov r5, #2
    mov r6, #3
    mov r7, #4
    mov r8, #5
    mov r9, #6
    mov r10, #7
    mov r11, #8
    mov r0, #0x28
    vmov d8, r0, r0
    mov r0, #0x29
    vmov d9, r0, r0
    mov r0, #0x2a
    vmov d10, r0, r0
    mov r0, #0x2b
    vmov d11, r0, r0
    mov r0, #0x2c
    vmov d12, r0, r0
    mov r0, #0x2d
    vmov d13, r0, r0
    mov r0, #0x2e
    vmov d14, r0, r0
    mov r0, #0x2f
    vmov d15, r0, r0
    bl clobber
keeper_check:
    sub r1, r4, #1
    orr r0, r0, r1
    sub r1, r5, #2
    orr r0, r0, r1
    sub r1, r6, #3
    orr r0, r0, r1
    sub r1, r7, #4
    orr r0, r0, r1
    sub r1, r8, #5
    orr r0, r0, r1
    sub r1, r9, #6
    orr r0, r0, r1
    sub r1, r10, #7
    orr r0, r0, r1
    sub r1, r11, #8
    orr r0, r0, r1
    vmov r1, r2, d8
    sub r1, r1, #0x28
    orr r0, r0, r1
    sub r2, r2, #0x28
    orr r0, r0, r2
    vmov r1, r2, d9
    sub r1, r1, #0x29
    orr r0, r0, r1
    sub r2, r2, #0x29
    orr r0, r0, r2
    vmov r1, r2, d10
    sub r1, r1, #0x2a
    orr r0, r0, r1
    sub r2, r2, #0x2a
    orr r0, r0, r2
    vmov r1, r2, d11
    sub r1, r1, #0x2b
    orr r0, r0, r1
    sub r2, r2, #0x2b
    orr r0, r0, r2
    vmov r1, r2, d12
    sub r1, r1, #0x2c
    orr r0, r0, r1
    sub r2, r2, #0x2c
    orr r0, r0, r2
    vmov r1, r2, d13
    sub r1, r1, #0x2d
    orr r0, r0, r1
    sub r2, r2, #0x2d
    orr r0, r0, r2
    vmov r1, r2, d14
    sub r1, r1, #0x2e
    orr r0, r0, r1
    sub r2, r2, #0x2e
    orr r0, r0, r2
    vmov r1, r2, d15
    sub r1, r1, #0x2f
    orr r0, r0, r1
    sub r2, r2, #0x2f
    orr r0, r0, r2
    add sp, sp, #4
    .cfi_def_cfa_offset 0x64
    vpop {d8, d9, d10, d11, d12, d13, d14, d15}
    .cfi_def_cfa_offset 0x24
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
    pop {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r5
    .cfi_restore r6
    .cfi_restore r7
    .cfi_restore r8
    .cfi_restore r9
    .cfi_restore r10
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size keeper, . - keeper

// clobber() = leaf(39), called with every callee-saved register holding something else
.type clobber, %function
clobber:
    .fnstart
    .cfi_startproc
    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .save {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .cfi_def_cfa_offset 0x24
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r10, -0xc
    .cfi_offset r9, -0x10
    .cfi_offset r8, -0x14
    .cfi_offset r7, -0x18
    .cfi_offset r6, -0x1c
    .cfi_offset r5, -0x20
    .cfi_offset r4, -0x24
    vpush {d8, d9, d10, d11, d12, d13, d14, d15}
    .vsave {d8, d9, d10, d11, d12, d13, d14, d15}
    .cfi_def_cfa_offset 0x64
    .cfi_offset d15, -0x2c
    .cfi_offset d14, -0x34
    .cfi_offset d13, -0x3c
    .cfi_offset d12, -0x44
    .cfi_offset d11, -0x4c
    .cfi_offset d10, -0x54
    .cfi_offset d9, -0x5c
    .cfi_offset d8, -0x64
    sub sp, sp, #4
    .pad #4
    .cfi_def_cfa_offset 0x68
clobber_body:
    mov r4, #0x11
    mov r5, #0x12
    mov r6, #0x13
    mov r7, #0x14
    mov r8, #0x15
    mov r9, #0x16
    mov r10, #0x17
    mov r11, #0x18
    mov r0, #0x38
    vmov d8, r0, r0
    mov r0, #0x39
    vmov d9, r0, r0
    mov r0, #0x3a
    vmov d10, r0, r0
    mov r0, #0x3b
    vmov d11, r0, r0
    mov r0, #0x3c
    vmov d12, r0, r0
    mov r0, #0x3d
    vmov d13, r0, r0
    mov r0, #0x3e
    vmov d14, r0, r0
    mov r0, #0x3f
    vmov d15, r0, r0
clobbered:
    add r0, r4, #0x16
    bl leaf
    add sp, sp, #4
    .cfi_def_cfa_offset 0x64
    vpop {d8, d9, d10, d11, d12, d13, d14, d15}
    .cfi_def_cfa_offset 0x24
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
    pop {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r5
    .cfi_restore r6
    .cfi_restore r7
    .cfi_restore r8
    .cfi_restore r9
    .cfi_restore r10
    .cfi_restore r11
    .cfi_restore lr
    // The registers are back and their slots are written over: a table that still points at them is wrong from here on.
    push {r0, r1, r2, r3, r12}
    .cfi_def_cfa_offset 0x14
    push {r0, r1, r2, r3, r12}
    .cfi_def_cfa_offset 0x28
    push {r0, r1, r2, r3, r12}
    .cfi_def_cfa_offset 0x3c
    push {r0, r1, r2, r3, r12}
    .cfi_def_cfa_offset 0x50
    push {r0, r1, r2, r3, r12}
    .cfi_def_cfa_offset 0x64
reuse:
    add sp, sp, #0x64
    .cfi_def_cfa_offset 0
    bx lr
    .cfi_endproc
    .fnend
.size clobber, . - clobber

// leaf(x) = x + 1
.type leaf, %function
leaf:
    .fnstart
    .cfi_startproc
    add r0, r0, #1
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf
