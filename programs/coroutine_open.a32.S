// summary: a coroutine whose first function is not marked as the end of its stack
// exit: 23
// trap: 26 tarantool/tarantool#6889, sustrik/libdill#64, ytsaurus/ytsaurus#1135
// traits: OPEN_END, OTHER_STACK
// frames: main_body = main, _start
// frames: coroutine#1 = coroutine
// frames: work_body#1 = work, coroutine
// frames: swap#2 = swap, work, coroutine
// frames: back_first = main, _start
// frames: work_resumed = work, coroutine
// frames: work_body#2 = work, coroutine
// frames: back_second = main, _start

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
    push {r4, r5}
    .save {r4, r5}
    .cfi_offset r5, -0xc
    .cfi_offset r4, -0x10
    sub sp, sp, #8
    .pad #8
    mov r4, sp
    ldr r1, .Lstack_pointer
    ldr r2, .Lcoroutine_pointer
    sub r1, r1, #0x10
    str r4, [r1]
    mov r3, #0x51
    str r3, [r1, #4]
    str r2, [r1, #8]
    str r1, [r4, #4]
    mov r0, #9
main_body:
    mov r1, r4
    add r2, r4, #4
    bl swap
back_first:
    mov r1, r4
    add r2, r4, #4
    bl swap
back_second:
    add sp, sp, #8
    pop {r4, r5}
    .cfi_restore r4
    .cfi_restore r5
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// the first function on its stack: nobody called it
.type coroutine, %function
coroutine:
    .fnstart
    .cfi_startproc
    bl work
    b coroutine
    .cfi_endproc
    .fnend
.size coroutine, . - coroutine

.type work, %function
work:
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
work_body:
    add r0, r0, #7
    add r1, r4, #4
    mov r2, r4
    bl swap
work_resumed:
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

// swap(x, from, to): keeps the caller's registers and SP on its own stack, and takes another's
.type swap, %function
swap:
    .fnstart
    .cfi_startproc
    push {r4, r11, lr}
    .save {r4, r11, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r4, -0xc
    mov r12, sp
    str r12, [r1]
    ldr r12, [r2]
    mov sp, r12
    pop {r4, r11, pc}
    .cfi_endproc
    .fnend
.size swap, . - swap

.p2align 2
.Lcoroutine_pointer:
    .word coroutine
.p2align 2
.Lstack_pointer:
    .word .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
