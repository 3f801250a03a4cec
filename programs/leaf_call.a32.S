// summary: a leaf below two callers, each with the standard frame-pointer prologue and epilogue
// exit: 42
// trap: 1 mstange/framehop#4, mstange/samply#2, open-telemetry/opentelemetry-ebpf-profiler#1578
// trap: 14 llvm/llvm-project#57648, libunwind/libunwind#836
// frames: main_body = main, _start
// frames: middle_body = middle, main, _start
// frames: leaf = leaf, middle, main, _start
// frames: leaf_body = leaf, middle, main, _start
// frames: leaf_return = leaf, middle, main, _start

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
    mov r0, #6
    bl middle
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// middle(x) = leaf(x) + x, with x kept in the frame across the call
.type middle, %function
middle:
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
    sub sp, sp, #8
    .pad #8
middle_body:
    str r0, [r11, #-4]
    bl leaf
    ldr r1, [r11, #-4]
    add r0, r0, r1
    mov sp, r11
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size middle, . - middle

// leaf(x) = 6 * x
.type leaf, %function
leaf:
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
    add r0, r0, r0, lsl #1
    add r0, r0, r0
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
leaf_return:
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf
