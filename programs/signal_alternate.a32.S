// summary: a signal whose handler runs on an alternate stack, calls a function, and is interrupted there
// exit: 19
// trap: 15 libunwind/libunwind#343, libunwind/libunwind#660
// signal: at leaf_popped handler on_signal restorer give_back on alternate stack
// signal: at count handler on_second restorer give_back on alternate stack
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: count = count, on_signal, give_back, leaf, main, _start
// frames: on_second_body = on_second, give_back, count, on_signal, give_back, leaf, main, _start
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

// counts, and has count count
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
    bl count
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
on_signal_popped:
    bx lr
    .cfi_endproc
    .fnend
.size on_signal, . - on_signal

// counts the signals
.type on_second, %function
on_second:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
on_second_linking:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
on_second_body:
    ldr r1, [r4]
    add r1, r1, #1
    str r1, [r4]
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
on_second_popped:
    bx lr
    .cfi_endproc
    .fnend
.size on_second, . - on_second

    // The trampoline: a return address whose table entry begins before it, where the look-up of a call would find it.
    // Only our own writer makes this: LLVM has one CIE for all of .debug_frame, and it describes no signal frame.
    .fnstart
    .save {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, sp, lr, pc}
    .pad #0xa0
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 0xf
    .cfi_escape 0xf, 4, 0x7d, 0xd4, 1, 6
    .cfi_escape 0x10, 0, 3, 0x7d, 0xa0, 1
    .cfi_escape 0x10, 1, 3, 0x7d, 0xa4, 1
    .cfi_escape 0x10, 2, 3, 0x7d, 0xa8, 1
    .cfi_escape 0x10, 3, 3, 0x7d, 0xac, 1
    .cfi_escape 0x10, 4, 3, 0x7d, 0xb0, 1
    .cfi_escape 0x10, 5, 3, 0x7d, 0xb4, 1
    .cfi_escape 0x10, 6, 3, 0x7d, 0xb8, 1
    .cfi_escape 0x10, 7, 3, 0x7d, 0xbc, 1
    .cfi_escape 0x10, 8, 3, 0x7d, 0xc0, 1
    .cfi_escape 0x10, 9, 3, 0x7d, 0xc4, 1
    .cfi_escape 0x10, 0xa, 3, 0x7d, 0xc8, 1
    .cfi_escape 0x10, 0xb, 3, 0x7d, 0xcc, 1
    .cfi_escape 0x10, 0xc, 3, 0x7d, 0xd0, 1
    .cfi_escape 0x10, 0xe, 3, 0x7d, 0xd8, 1
    .cfi_escape 0x10, 0xf, 3, 0x7d, 0xdc, 1
    .cfi_escape 0x10, 0x88, 2, 3, 0x7d, 0xb0, 3
    .cfi_escape 0x10, 0x89, 2, 3, 0x7d, 0xb8, 3
    .cfi_escape 0x10, 0x8a, 2, 3, 0x7d, 0xc0, 3
    .cfi_escape 0x10, 0x8b, 2, 3, 0x7d, 0xc8, 3
    .cfi_escape 0x10, 0x8c, 2, 3, 0x7d, 0xd0, 3
    .cfi_escape 0x10, 0x8d, 2, 3, 0x7d, 0xd8, 3
    .cfi_escape 0x10, 0x8e, 2, 3, 0x7d, 0xe0, 3
    .cfi_escape 0x10, 0x8f, 2, 3, 0x7d, 0xe8, 3
    nop
.type give_back, %function
give_back:
    mov r7, #0xad
    svc #0
    .cfi_endproc
    .fnend
give_back_end:
.size give_back, . - give_back
// one more
.type count, %function
count:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
count_linking:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
count_body:
    ldr r1, [r4]
    add r1, r1, #1
    str r1, [r4]
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
count_popped:
    bx lr
    .cfi_endproc
    .fnend
.size count, . - count

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
