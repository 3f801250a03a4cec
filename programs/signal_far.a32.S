// summary: signals in a function that was called through a pointer, the second one below 36 KiB of its frame
// exit: 18
// trap: 15 libunwind/libunwind#1061
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_far handler on_signal restorer give_back
// frames: leaf_body = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: leaf_far = leaf, main, _start
// frames: give_back = give_back, leaf, main, _start
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
main_body:
    mov r0, #9
    ldr r1, .Lleaf_pointer
    blx r1
main_back:
    ldr r1, [r4]
    add r0, r0, r1
    pop {r3, r4}
    .cfi_restore r4
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .p2align 2
.Lleaf_pointer:
    .word .Lleaf
    .cfi_endproc
    .fnend
.size main, . - main

// counts the signals
.type on_signal, %function
on_signal:
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
.size on_signal, . - on_signal

.include "fragments/give_back.a32.S"

// leaf(x) = x + 7: behind its first lines, nothing on 36 KiB of the stack looks like a return address
.type leaf, %function
leaf:
.Lleaf:
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
leaf_body:
    sub sp, sp, #0x9000
    mov lr, #1
leaf_far:
    add r0, r0, #7
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf
