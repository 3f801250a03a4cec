// summary: a leaf marked as impossible to unwind, as compilers mark what throws nothing: no end of the stack
// exit: 19
// trap: 14 llvm/llvm-project#57648, libunwind/libunwind#836, libunwind/libunwind#399, getsentry/symbolic#1017
// traits: CANNOT_UNWIND
// frames: leaf = leaf, work, main, _start
// frames: leaf_body = leaf, work, main, _start

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

// work(x) = leaf(x) + 1
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
    bl leaf
    adds r0, r0, #1
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

// leaf(x) = 2 * x, which its table says cannot be unwound: as compilers mark what cannot throw
.type leaf, %function
.thumb_func
leaf:
    .fnstart
    .cantunwind
    .cfi_startproc
    adds r0, r0, r0
leaf_body:
    bx lr
leaf_end:
    .cfi_endproc
    .fnend
.size leaf, . - leaf
