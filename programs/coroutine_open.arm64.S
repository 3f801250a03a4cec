// summary: a coroutine whose first function is not marked as the end of its stack
// exit: 23
// trap: 26 tarantool/tarantool#6889, sustrik/libdill#64, ytsaurus/ytsaurus#1135
// traits: OPEN_END, OTHER_STACK
// frames: main_body = main, _start
// frames: coroutine#1 = coroutine
// frames: work_body#1 = work, coroutine
// frames: swap#2 = swap, work, coroutine
// frames: back_first = main, _start
// frames: work_resumed = work, coroutine
// frames: work_body#2 = work, coroutine
// frames: back_second = main, _start

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
    stp x29, x30, [sp, #-0x30]!
    .cfi_def_cfa_offset 0x30
    .cfi_offset x29, -0x30
    .cfi_offset x30, -0x28
    mov x29, sp
    .cfi_def_cfa_register x29
    str x19, [sp, #0x10]
    .cfi_offset x19, -0x20
    add x19, sp, #0x20
    adr x9, .Lstack_pointer
    ldr x9, [x9]
    adr x10, coroutine
    sub x9, x9, #0x20
    mov x11, #0x51
    stp x11, x10, [x9]
    stp x19, xzr, [x9, #0x10]
    str x9, [x19, #8]
    mov x0, #9
main_body:
    mov x1, x19
    add x2, x19, #8
    bl swap
back_first:
    mov x1, x19
    add x2, x19, #8
    bl swap
back_second:
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x30
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// the first function on its stack: nobody called it
.type coroutine, %function
coroutine:
    .cfi_startproc
    bl work
    b coroutine
    .cfi_endproc
.size coroutine, . - coroutine

.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
work_body:
    add x0, x0, #7
    add x1, x19, #8
    mov x2, x19
    bl swap
work_resumed:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work

// swap(x, from, to): keeps the caller's registers and SP on its own stack, and takes another's
.type swap, %function
swap:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    str x19, [sp, #0x10]
    .cfi_offset x19, -0x10
    mov x9, sp
    str x9, [x1]
    ldr x9, [x2]
    mov sp, x9
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x9, [sp], #0x20
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_undefined x30
    br x9
    .cfi_endproc
.size swap, . - swap

.p2align 3
.Lstack_pointer:
    .quad .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
