// summary: a signal whose trampoline has no table: the row of the code before it answers
// exit: 17
// trap: 4 llvm/llvm-project#92291, libunwind/libunwind#924
// trap: 15 libunwind/libunwind#1061
// signal: at leaf_body handler on_signal restorer give_back
// untabled: give_back..give_back_end
// frames: on_signal_body = on_signal, give_back, leaf, main, _start
// frames: main_back = main, _start

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
    bl leaf
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
    .cfi_endproc
    .fnend
.size main, . - main

// leaf(x) = x + 7
.type leaf, %function
leaf:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
leaf_linking:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
leaf_body:
    add r0, r0, #7
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
leaf_popped:
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf

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
on_signal_linking:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
on_signal_body:
    ldr r1, [r4]
    add r1, r1, #1
    str r1, [r4]
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
on_signal_popped:
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

    // The trampoline, without a table and without a nop before it: the look-up of a call finds the function before.
.type give_back, %function
give_back:
    mov r7, #0xad
    svc #0
give_back_end:
.size give_back, . - give_back
