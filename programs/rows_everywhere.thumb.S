// summary: the standard prologue and epilogue with asynchronous rows: right at every instruction
// exit: 27
// trap: 5 llvm/llvm-project#63598
// frames: work_body = work, main, _start
// frames: leaf_pushed = leaf, work, main, _start
// frames: leaf_popped = leaf, work, main, _start
// frames: work_popped = work, main, _start

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

// work(9) = leaf(9) + 9
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
work_pushed:
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
work_body:
    bl leaf
    adds r0, r0, #9
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
work_popped:
    bx lr
work_end:
    .cfi_endproc
    .fnend
.size work, . - work

// leaf(x) = 2 * x
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
leaf_pushed:
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
leaf_body:
    adds r0, r0, r0
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
leaf_popped:
    bx lr
leaf_end:
    .cfi_endproc
    .fnend
.size leaf, . - leaf
