// summary: an exception: two frames are cut off, and the landing pad finds SP elsewhere
// exit: 16
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// traits: LOST_REGISTER
// frames: catcher_body = catcher, main, _start
// frames: thrower_body = thrower, middle, catcher, main, _start
// frames: pad = catcher, main, _start
// frames: helper = helper, catcher, main, _start

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
main_body:
    mov r0, #9
    bl catcher
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// catcher(x): calls middle with arguments on the stack; the landing pad finds SP elsewhere
.type catcher, %function
catcher:
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
    sub sp, sp, #0x20
    .pad #0x20
    str r0, [r11, #-4]
    push {r0, r1}
    .pad #8
catcher_body:
    bl middle
    udf #0
pad:
    ldr r0, [r11, #-4]
    bl helper
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size catcher, . - catcher

.type middle, %function
middle:
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
    bl thrower
    udf #0
    .cfi_endproc
    .fnend
.size middle, . - middle

// cuts the stack down to catcher's frame, two frames out, and enters its landing pad
.type thrower, %function
thrower:
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
thrower_body:
    ldr r11, [r11]
    .cfi_def_cfa sp, 8
    .cfi_restore r11
    ldr r11, [r11]
    .cfi_undefined r11
    sub r1, r11, #0x20
cutting:
    mov sp, r1
    b pad
    .cfi_endproc
    .fnend
.size thrower, . - thrower

// helper(x) = x + 7
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    add r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
