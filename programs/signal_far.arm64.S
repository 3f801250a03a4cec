// summary: signals in a function that was called through a pointer, the second one below 36 KiB of its frame
// exit: 18
// trap: 15 libunwind/libunwind#1061
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_far handler on_signal restorer give_back
// frames: leaf_body = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: leaf_far = leaf, main, _start
// frames: give_back = give_back, leaf, main, _start
// frames: main_back = main, _start
// recipes: keystone*

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
    adr x1, leaf
    blr x1
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
    mov x29, sp
    .cfi_def_cfa_register x29
    ldr x9, [x19]
    add x9, x9, #1
    str x9, [x19]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size on_signal, . - on_signal

.include "fragments/give_back.arm64.S"

// leaf(x) = x + 7: behind its first lines, neither the link register nor anything on 36 KiB of the stack looks like a return address
.type leaf, %function
leaf:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x30, #1
leaf_body:
    sub sp, sp, #0x9, lsl #0xc
leaf_far:
    add x0, x0, #7
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size leaf, . - leaf
