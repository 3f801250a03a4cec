// summary: signals at a function's first instruction, in its prologue, its body and its epilogue
// exit: 20
// trap: 4 libunwind/libunwind#1059, bytecodealliance/wasmtime#1914, ianlancetaylor/libbacktrace#80
// trap: 15 libunwind/libunwind#924, libunwind/libunwind#1061, libunwind/libunwind#343, libunwind/libunwind#660
// signal: at leaf handler on_signal restorer give_back
// signal: at leaf_linking handler on_signal restorer give_back
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_popped handler on_signal restorer give_back
// frames: leaf = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: on_signal_body = on_signal, give_back, leaf, main, _start
// frames: give_back = give_back, leaf, main, _start
// frames: main_back = main, _start

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
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x19, xzr, [sp, #0x10]
    .cfi_offset x19, -0x10
    add x19, sp, #0x18
main_body:
    mov x0, #9
    bl leaf
main_back:
    ldr x1, [x19]
    add x0, x0, x1
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// counts the signals
.type on_signal, %function
on_signal:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
on_signal_linking:
    mov x29, sp
    .cfi_def_cfa_register x29
on_signal_body:
    ldr x9, [x19]
    add x9, x9, #1
    str x9, [x19]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
on_signal_popped:
    ret
    .cfi_endproc
.size on_signal, . - on_signal

    // The trampoline: a return address whose table entry begins before it, where the look-up of a call would find it.
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 0x20
    .cfi_escape 0xf, 4, 0x8f, 0xb0, 4, 6
    .cfi_escape 0x10, 0, 3, 0x8f, 0xb8, 2
    .cfi_escape 0x10, 1, 3, 0x8f, 0xc0, 2
    .cfi_escape 0x10, 2, 3, 0x8f, 0xc8, 2
    .cfi_escape 0x10, 3, 3, 0x8f, 0xd0, 2
    .cfi_escape 0x10, 4, 3, 0x8f, 0xd8, 2
    .cfi_escape 0x10, 5, 3, 0x8f, 0xe0, 2
    .cfi_escape 0x10, 6, 3, 0x8f, 0xe8, 2
    .cfi_escape 0x10, 7, 3, 0x8f, 0xf0, 2
    .cfi_escape 0x10, 8, 3, 0x8f, 0xf8, 2
    .cfi_escape 0x10, 9, 3, 0x8f, 0x80, 3
    .cfi_escape 0x10, 0xa, 3, 0x8f, 0x88, 3
    .cfi_escape 0x10, 0xb, 3, 0x8f, 0x90, 3
    .cfi_escape 0x10, 0xc, 3, 0x8f, 0x98, 3
    .cfi_escape 0x10, 0xd, 3, 0x8f, 0xa0, 3
    .cfi_escape 0x10, 0xe, 3, 0x8f, 0xa8, 3
    .cfi_escape 0x10, 0xf, 3, 0x8f, 0xb0, 3
    .cfi_escape 0x10, 0x10, 3, 0x8f, 0xb8, 3
    .cfi_escape 0x10, 0x11, 3, 0x8f, 0xc0, 3
    .cfi_escape 0x10, 0x12, 3, 0x8f, 0xc8, 3
    .cfi_escape 0x10, 0x13, 3, 0x8f, 0xd0, 3
    .cfi_escape 0x10, 0x14, 3, 0x8f, 0xd8, 3
    .cfi_escape 0x10, 0x15, 3, 0x8f, 0xe0, 3
    .cfi_escape 0x10, 0x16, 3, 0x8f, 0xe8, 3
    .cfi_escape 0x10, 0x17, 3, 0x8f, 0xf0, 3
    .cfi_escape 0x10, 0x18, 3, 0x8f, 0xf8, 3
    .cfi_escape 0x10, 0x19, 3, 0x8f, 0x80, 4
    .cfi_escape 0x10, 0x1a, 3, 0x8f, 0x88, 4
    .cfi_escape 0x10, 0x1b, 3, 0x8f, 0x90, 4
    .cfi_escape 0x10, 0x1c, 3, 0x8f, 0x98, 4
    .cfi_escape 0x10, 0x1d, 3, 0x8f, 0xa0, 4
    .cfi_escape 0x10, 0x1e, 3, 0x8f, 0xa8, 4
    .cfi_escape 0x10, 0x20, 3, 0x8f, 0xb8, 4
    .cfi_escape 0x10, 0x48, 3, 0x8f, 0xe0, 5
    .cfi_escape 0x10, 0x49, 3, 0x8f, 0xf0, 5
    .cfi_escape 0x10, 0x4a, 3, 0x8f, 0x80, 6
    .cfi_escape 0x10, 0x4b, 3, 0x8f, 0x90, 6
    .cfi_escape 0x10, 0x4c, 3, 0x8f, 0xa0, 6
    .cfi_escape 0x10, 0x4d, 3, 0x8f, 0xb0, 6
    .cfi_escape 0x10, 0x4e, 3, 0x8f, 0xc0, 6
    .cfi_escape 0x10, 0x4f, 3, 0x8f, 0xd0, 6
    nop
.type give_back, %function
give_back:
    mov x8, #0x8b
    svc #0
    .cfi_endproc
give_back_end:
.size give_back, . - give_back
// leaf(x) = x + 7
.type leaf, %function
leaf:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
leaf_linking:
    mov x29, sp
    .cfi_def_cfa_register x29
leaf_body:
    add x0, x0, #7
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
leaf_popped:
    ret
    .cfi_endproc
.size leaf, . - leaf
