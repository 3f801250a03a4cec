// summary: a call through a null pointer: no function, no table, no image, and the fault's handler on top of it
// exit: 16
// trap: 16 libunwind/libunwind#106, libunwind/libunwind#235
// signal: at fault handler on_fault restorer give_back
// frames: work_body = work, main, _start
// frames: on_fault = on_fault, give_back, 0x0, work, main, _start
// frames: give_back = give_back, 0x0, work, main, _start
// frames: work_back = work, main, _start
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
main_body:
    mov r0, #9
    bl work
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) calls through a null pointer; the handler makes it a function that returns at once
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
    mov r1, #0
work_body:
    blx r1
work_back:
    add r0, r0, #7
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

// returns for the code that is not there
.type on_fault, %function
on_fault:
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
on_fault_body:
    ldr r3, [r2, #0x58]
leaving:
    str r3, [r2, #0x5c]
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size on_fault, . - on_fault

.include "fragments/give_back.a32.S"
