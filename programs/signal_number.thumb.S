// summary: signals in Thumb code that has a number in its frame pointer, as around every system call, or a pointer to numbers
// exit: 67
// trap: 15 libunwind/libunwind#1061
// signal: at asks_number handler on_signal restorer give_back
// signal: at asks_pointed handler on_signal restorer give_back
// signal: at asks_asked handler on_signal restorer give_back
// frames: asks_number = asks, main, _start
// frames: on_signal#1 = on_signal, give_back, asks, main, _start
// frames: count_body#1 = count, on_signal, give_back, asks, main, _start
// frames: give_back#1 = give_back, asks, main, _start
// frames: main_back = main, _start
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
    movs r3, #0
    push {r3, r4}
    .save {r4}
    .pad #4
    .cfi_offset r4, -0xc
    mov r4, sp
main_body:
    bl asks
main_back:
    ldr r1, [r4]
    adds r0, r0, r1
    pop {r3, r4}
    .cfi_restore r4
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// has the signals counted
.type on_signal, %function
.thumb_func
on_signal:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
on_signal_linking:
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    bl count
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

// count(): the signal is one more
.type count, %function
.thumb_func
count:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
count_linking:
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
count_body:
    ldr r1, [r4]
    adds r1, r1, #1
    str r1, [r4]
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
count_popped:
    bx lr
    .cfi_endproc
    .fnend
.size count, . - count

.include "fragments/give_back.thumb.S"

// asks(): 0x40, by way of r7, which has the number of a system call wherever one is made; then it leads to numbers, as
// GCC's frame pointer in Thumb code leads to locals
.type asks, %function
.thumb_func
asks:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    movs r7, #0x40
asks_number:
    mov r0, r7
    ldr r7, .Lnumbers_pointer
asks_pointed:
    mov r7, r0
asks_asked:
    pop.w {r7, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size asks, . - asks
.p2align 2
.Lnumbers_pointer:
    .word .Lnumbers
.Lnumbers:
    .word 0
    .word 2
