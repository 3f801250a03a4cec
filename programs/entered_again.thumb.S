// summary: a callee that never returns, in a caller that is entered again: setjmp returns twice, and each time calls it
// exit: 16
// traits: LOST_REGISTER
// frames: main_body = main, _start
// frames: set_jump = set_jump, main, _start
// frames: main_set#1 = main, _start
// frames: inner_body = inner, middle, main, _start
// frames: long_jump = long_jump, inner, middle, main, _start
// frames: main_set#2 = main, _start
// frames: middle#2 = middle, main, _start
// frames: inner#2 = inner, middle, main, _start
// frames: inner_done = inner, middle, main, _start
// frames: landed = main, _start
// frames: helper = helper, main, _start

.syntax unified
.thumb
.cfi_sections .debug_frame

.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, r7
    mov lr, r7
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
.thumb_func
main:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    sub sp, #0x68
    .pad #0x68
main_body:
    mov r0, sp
    bl set_jump
main_set:
    mov r1, r0
    mov r0, sp
    bl middle
landed:
    bl helper
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// middle(buffer, value) = inner(buffer, value)
.type middle, %function
.thumb_func
middle:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    bl inner
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size middle, . - middle

// inner(buffer, value) = value, or it does not come back
.type inner, %function
.thumb_func
inner:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    cmp r1, #0
    bne inner_value
    movs r1, #9
inner_body:
    bl long_jump
inner_value:
    mov r0, r1
inner_done:
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size inner, . - inner

// set_jump(buffer) = 0, or what long_jump gives it
.type set_jump, %function
.thumb_func
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
    movs r0, #0
    bx lr
    .cfi_endproc
    .fnend
.size set_jump, . - set_jump

// long_jump(buffer, value): what is loaded is the target's, and the caller's values are lost
.type long_jump, %function
.thumb_func
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

// helper(x) = x + 7
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
