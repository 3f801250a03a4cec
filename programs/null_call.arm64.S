// summary: a call through a null pointer: no function, no table, no image, and the fault's handler on top of it
// exit: 16
// trap: 16 libunwind/libunwind#106, libunwind/libunwind#235
// signal: at fault handler on_fault restorer give_back
// frames: work_body = work, main, _start
// frames: on_fault = on_fault, give_back, 0x0, work, main, _start
// frames: give_back = give_back, 0x0, work, main, _start
// frames: work_back = work, main, _start

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
    mov x0, #9
    bl work
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// work(x) calls through a null pointer; the handler makes it a function that returns at once
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x1, #0
work_body:
    blr x1
work_back:
    add x0, x0, #7
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work

// returns for the code that is not there
.type on_fault, %function
on_fault:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
on_fault_body:
    ldr x9, [x2, #0x1a8]
leaving:
    str x9, [x2, #0x1b8]
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size on_fault, . - on_fault

.include "fragments/give_back.arm64.S"
