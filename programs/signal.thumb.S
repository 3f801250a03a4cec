// summary: signals at a function's first instruction, in its prologue, its body and its epilogue
// exit: 20
// trap: 4 libunwind/libunwind#1059, bytecodealliance/wasmtime#1914, ianlancetaylor/libbacktrace#80
// trap: 15 libunwind/libunwind#924, libunwind/libunwind#1061, libunwind/libunwind#343, libunwind/libunwind#660
// signal: at leaf handler on_signal restorer give_back
// signal: at leaf_linking handler on_signal restorer give_back
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_popped handler on_signal restorer give_back
// frames: leaf = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: on_signal_body = on_signal, give_back, leaf, main, _start
// frames: give_back = give_back, leaf, main, _start
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
    movs r0, #9
    bl leaf
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

// counts the signals
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
on_signal_body:
    ldr r1, [r4]
    adds r1, r1, #1
    str r1, [r4]
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
on_signal_popped:
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

.include "fragments/give_back.thumb.S"

// leaf(x) = x + 7
.type leaf, %function
.thumb_func
leaf:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
leaf_linking:
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
leaf_body:
    adds r0, r0, #7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
leaf_popped:
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf
