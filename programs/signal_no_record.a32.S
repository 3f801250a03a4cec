// summary: signals where no frame record is: in a function with FP as data, right behind a call, a bare handler
// exit: 18
// trap: 15 libunwind/libunwind#1061
// signal: at work_body handler on_signal restorer give_back
// signal: at main_back handler on_signal restorer give_back
// signal: at main_later handler on_signal restorer give_back
// frames: work_body = work, main, _start
// frames: on_signal#1 = on_signal, give_back, work, main, _start
// frames: count#1 = count, on_signal, give_back, work, main, _start
// frames: on_signal#2 = on_signal, give_back, main, _start
// frames: main_back = main, _start
// recipes: keystone*

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
    mov r3, #0
    push {r3, r4}
    .save {r4}
    .pad #4
    .cfi_offset r4, -0xc
    mov r4, sp
    mov r2, #0xff
    mvn r2, r2
    mov r3, #0x10
    push {r2, r3}
    .pad #8
    mov r1, sp
main_body:
    mov r0, #9
    bl work
main_back:
    ldr r1, [r4]
main_later:
    add r0, r0, r1
    add sp, sp, #8
    pop {r3, r4}
    .cfi_restore r4
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// counts the signals; r11 stays what it was
.type on_signal, %function
on_signal:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    bl count
    pop {r4, pc}
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

.type count, %function
count:
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
    ldr r1, [r4]
    add r1, r1, #1
    str r1, [r4]
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size count, . - count

.include "fragments/give_back.a32.S"

// work(x) = x + 7, with r11 as a pointer to two numbers
.type work, %function
work:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, r1
work_body:
    add r0, r0, #7
    pop {r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work
