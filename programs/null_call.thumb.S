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
    bl work
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) calls through a null pointer; the handler makes it a function that returns at once
.type work, %function
.thumb_func
work:
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
    movs r1, #1
work_body:
    blx r1
work_back:
    adds r0, r0, #7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

// returns for the code that is not there
.type on_fault, %function
.thumb_func
on_fault:
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
on_fault_body:
    ldr r3, [r2, #0x58]
    subs r3, r3, #1
leaving:
    str r3, [r2, #0x5c]
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size on_fault, . - on_fault

.include "fragments/give_back.thumb.S"
