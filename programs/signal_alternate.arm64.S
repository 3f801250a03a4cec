// summary: a signal whose handler runs on an alternate stack, calls a function, and is interrupted there
// exit: 19
// trap: 15 libunwind/libunwind#343, libunwind/libunwind#660
// signal: at leaf_popped handler on_signal restorer give_back on alternate stack
// signal: at count handler on_second restorer give_back on alternate stack
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: count = count, on_signal, give_back, leaf, main, _start
// frames: on_second_body = on_second, give_back, count, on_signal, give_back, leaf, main, _start
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

// counts, and has count count
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
    bl count
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
on_signal_popped:
    ret
    .cfi_endproc
.size on_signal, . - on_signal

// counts the signals
.type on_second, %function
on_second:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
on_second_linking:
    mov x29, sp
    .cfi_def_cfa_register x29
on_second_body:
    ldr x9, [x19]
    add x9, x9, #1
    str x9, [x19]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
on_second_popped:
    ret
    .cfi_endproc
.size on_second, . - on_second

.include "fragments/give_back.arm64.S"

// one more
.type count, %function
count:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
count_linking:
    mov x29, sp
    .cfi_def_cfa_register x29
count_body:
    ldr x9, [x19]
    add x9, x9, #1
    str x9, [x19]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
count_popped:
    ret
    .cfi_endproc
.size count, . - count

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
