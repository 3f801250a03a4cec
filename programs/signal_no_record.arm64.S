// summary: signals where no frame record is: in a function with FP as data, right behind a call, a bare handler
// exit: 18
// trap: 15 libunwind/libunwind#1061
// signal: at work_body handler on_signal restorer give_back
// signal: at main_back handler on_signal restorer give_back
// signal: at main_later handler on_signal restorer give_back
// frames: work_body = work, main, _start
// frames: on_signal#1 = on_signal, give_back, work, main, _start
// frames: count#1 = count, on_signal, give_back, work, main, _start
// frames: on_signal#2 = on_signal, give_back, main, _start
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
    bl work
main_back:
    ldr x1, [x19]
main_later:
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

// counts the signals; x29 stays what it was
.type on_signal, %function
on_signal:
    .cfi_startproc
    str x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x30, -0x10
    bl count
    ldr x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    ret
    .cfi_endproc
.size on_signal, . - on_signal

.type count, %function
count:
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
.size count, . - count

.include "fragments/give_back.arm64.S"

// work(x) = x + 7, with x29 as a pointer to main's counter
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, x19
work_body:
    add x0, x0, #7
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work
