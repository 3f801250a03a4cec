// summary: no frame pointers below main: a caller that only moves SP, a leaf without a frame, a leaf with locals
// exit: 77
// trap: 1 mstange/samply#2, tikv/pprof-rs#75
// trap: 2 kstenerud/KSCrash#327, xroche/coffeecatch#68, rust-minidump/rust-minidump#607
// trap: 17 rust-minidump/rust-minidump#1138, rust-minidump/rust-minidump#1155
// trap: 18 libunwind/libunwind#1006, async-profiler/async-profiler#1459
// frames: main_body = main, _start
// frames: middle_body = middle, main, _start
// frames: leaf = leaf, middle, main, _start
// frames: leaf_body = leaf, middle, main, _start
// frames: middle_between = middle, main, _start
// frames: leaf_locals = leaf_locals, middle, main, _start
// frames: leaf_locals_body = leaf_locals, middle, main, _start
// frames: leaf_locals_return = leaf_locals, middle, main, _start

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
    movs r0, #7
    bl middle
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// middle(x) = leaf(x) + leaf_locals(x); r7 stays main's
.type middle, %function
.thumb_func
middle:
    .fnstart
    .cfi_startproc
    push {lr}
    .save {lr}
    .cfi_def_cfa_offset 4
    .cfi_offset lr, -4
    sub sp, #0xc
    .pad #0xc
    .cfi_def_cfa_offset 0x10
middle_body:
    str r0, [sp]
    bl leaf
middle_between:
    str r0, [sp, #4]
    ldr r0, [sp]
    bl leaf_locals
    ldr r1, [sp, #4]
    adds r0, r0, r1
    add sp, #0xc
    .cfi_def_cfa_offset 4
    pop {pc}
    .cfi_endproc
    .fnend
.size middle, . - middle

// leaf(x) = 3 * x; it touches no stack at all
.type leaf, %function
.thumb_func
leaf:
    .fnstart
    .cfi_startproc
    mov r1, r0
leaf_body:
    lsls r0, r0, #1
    adds r0, r0, r1
    bx lr
    .cfi_endproc
    .fnend
.size leaf, . - leaf

// leaf_locals(x) = 8 * x, through two locals
.type leaf_locals, %function
.thumb_func
leaf_locals:
    .fnstart
    .cfi_startproc
    sub sp, #0x10
    .pad #0x10
    .cfi_def_cfa_offset 0x10
leaf_locals_body:
    str r0, [sp, #4]
    lsls r0, r0, #3
    str r0, [sp, #8]
    ldr r0, [sp, #8]
    add sp, #0x10
    .cfi_def_cfa_offset 0
leaf_locals_return:
    bx lr
    .cfi_endproc
    .fnend
.size leaf_locals, . - leaf_locals
