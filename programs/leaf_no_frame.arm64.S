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
    mov x0, #7
    bl middle
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// middle(x) = leaf(x) + leaf_locals(x); x29 stays main's
.type middle, %function
middle:
    .cfi_startproc
    sub sp, sp, #0x20
    .cfi_def_cfa_offset 0x20
    str x30, [sp, #0x10]
    .cfi_offset x30, -0x10
middle_body:
    str x0, [sp]
    bl leaf
middle_between:
    str x0, [sp, #8]
    ldr x0, [sp]
    bl leaf_locals
    ldr x1, [sp, #8]
    add x0, x0, x1
    ldr x30, [sp, #0x10]
    .cfi_restore x30
    add sp, sp, #0x20
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size middle, . - middle

// leaf(x) = 3 * x; it touches no stack at all
.type leaf, %function
leaf:
    .cfi_startproc
    mov x1, x0
leaf_body:
    lsl x0, x0, #1
    add x0, x0, x1
    ret
    .cfi_endproc
.size leaf, . - leaf

// leaf_locals(x) = 8 * x, through two locals
.type leaf_locals, %function
leaf_locals:
    .cfi_startproc
    sub sp, sp, #0x20
    .cfi_def_cfa_offset 0x20
leaf_locals_body:
    str x0, [sp, #8]
    lsl x0, x0, #3
    str x0, [sp, #0x10]
    ldr x0, [sp, #0x10]
    add sp, sp, #0x20
    .cfi_def_cfa_offset 0
leaf_locals_return:
    ret
    .cfi_endproc
.size leaf_locals, . - leaf_locals
