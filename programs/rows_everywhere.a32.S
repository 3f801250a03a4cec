// summary: the standard prologue and epilogue with asynchronous rows: right at every instruction
// exit: 27
// trap: 5 llvm/llvm-project#63598
// frames: work_body = work, main, _start
// frames: leaf_pushed = leaf, work, main, _start
// frames: leaf_popped = leaf, work, main, _start
// frames: work_popped = work, main, _start

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

// work(9) = leaf(9) + 9
.type work, %function
work:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
work_pushed:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
work_body:
    bl leaf
    add r0, r0, #9
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
work_popped:
    bx lr
work_end:
    .cfi_endproc
    .fnend
.size work, . - work

// leaf(x) = 2 * x
.type leaf, %function
leaf:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
leaf_pushed:
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
leaf_body:
    add r0, r0, r0
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
leaf_popped:
    bx lr
leaf_end:
    .cfi_endproc
    .fnend
.size leaf, . - leaf
