// summary: an exception: two frames are cut off, and the landing pad finds SP elsewhere
// exit: 16
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// traits: LOST_REGISTER
// frames: catcher_body = catcher, main, _start
// frames: thrower_body = thrower, middle, catcher, main, _start
// frames: pad = catcher, main, _start
// frames: helper = helper, catcher, main, _start

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
main_body:
    movs r0, #9
    bl catcher
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// catcher(x): calls middle with arguments on the stack; the landing pad finds SP elsewhere
.type catcher, %function
.thumb_func
catcher:
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
    sub sp, #0x20
    .pad #0x20
    str r0, [r7, #-4]
    push {r0, r1}
    .pad #8
catcher_body:
    bl middle
    udf #0
pad:
    ldr r0, [r7, #-4]
    bl helper
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size catcher, . - catcher

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
    bl thrower
    udf #0
    .cfi_endproc
    .fnend
.size middle, . - middle

// cuts the stack down to catcher's frame, two frames out, and enters its landing pad
.type thrower, %function
.thumb_func
thrower:
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
thrower_body:
    ldr r7, [r7]
    .cfi_def_cfa sp, 8
    .cfi_restore r7
    ldr r7, [r7]
    .cfi_undefined r7
    sub.w r1, r7, #0x20
cutting:
    mov sp, r1
    b pad
    .cfi_endproc
    .fnend
.size thrower, . - thrower

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
