// summary: a leaf below two callers, each with the standard frame-pointer prologue and epilogue
// exit: 42
// trap: 1 mstange/framehop#4, mstange/samply#2, open-telemetry/opentelemetry-ebpf-profiler#1578
// frames: main_body = main, _start
// frames: middle_body = middle, main, _start
// frames: leaf = leaf, middle, main, _start
// frames: leaf_body = leaf, middle, main, _start
// frames: leaf_return = leaf, middle, main, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
main_body:
    mov x0, #6
    bl middle
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// middle(x) = leaf(x) + x, with x kept in the frame across the call
.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
middle_body:
    str x0, [x29, #0x18]
    bl leaf
    ldr x1, [x29, #0x18]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

// leaf(x) = 6 * x
.type leaf, %function
leaf:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
leaf_body:
    add x0, x0, x0, lsl #1
    add x0, x0, x0
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
leaf_return:
    ret
    .cfi_endproc
.size leaf, . - leaf
