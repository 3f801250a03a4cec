// summary: a leaf marked as impossible to unwind, as compilers mark what throws nothing: no end of the stack
// exit: 19
// trap: 14 llvm/llvm-project#57648, libunwind/libunwind#836, libunwind/libunwind#399, getsentry/symbolic#1017
// traits: CANNOT_UNWIND
// frames: leaf = leaf, work, main, _start
// frames: leaf_body = leaf, work, main, _start

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

// work(x) = leaf(x) + 1
.type work, %function
work:
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
    bl leaf
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

// leaf(x) = 2 * x, which its table says cannot be unwound: as compilers mark what cannot throw
.type leaf, %function
leaf:
    .fnstart
    .cantunwind
    .cfi_startproc
    add r0, r0, r0
leaf_body:
    bx lr
leaf_end:
    .cfi_endproc
    .fnend
.size leaf, . - leaf
