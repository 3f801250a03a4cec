// summary: a handler in A32 code and a trampoline in Thumb code, as glibc's is: another register chains there
// exit: 20
// trap: 13 ARM-software/abi-aa#24
// trap: 15 libunwind/libunwind#1061
// signal: at leaf handler on_signal restorer give_back
// signal: at leaf_linking handler on_signal restorer give_back
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_popped handler on_signal restorer give_back
// frames: leaf = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: on_signal_body = on_signal, give_back, leaf, main, _start
// frames: count = count, on_signal, give_back, leaf, main, _start
// frames: count_body = count, on_signal, give_back, leaf, main, _start
// frames: on_signal_counted = on_signal, give_back, leaf, main, _start
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

.arm
.p2align 2
// counts the signals; Thumb code helps it
.type on_signal, %function
on_signal:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
on_signal_linking:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
on_signal_body:
    blx count
on_signal_counted:
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
on_signal_popped:
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

.thumb
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
