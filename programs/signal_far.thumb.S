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
    ldr r1, .Lleaf_pointer
    blx r1
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
    .p2align 2
.Lleaf_pointer:
    .word .Lleaf + 1  // the Thumb bit of a code pointer
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
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    ldr r1, [r4]
    adds r1, r1, #1
    str r1, [r4]
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

.include "fragments/give_back.thumb.S"

// leaf(x) = x + 7: behind its first lines, nothing on 36 KiB of the stack looks like a return address
.type leaf, %function
.thumb_func
leaf:
.Lleaf:
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
leaf_body:
    movs r2, #0x90
    lsls r2, r2, #8
    mov r3, sp
    subs r3, r3, r2
    mov sp, r3
    movs r2, #1
    mov lr, r2
leaf_far:
    adds r0, r0, #7
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf
