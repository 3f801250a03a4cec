// summary: a function that keeps its return address in a register, and calls: a search of the stack finds others, or none
// exit: 27
// untabled: keeper..helper
// frames: helper#1 = helper, keeper, middle, main, _start
// frames: kept#1 = keeper, middle, main, _start
// frames: kept#2 = keeper, roomy, main, _start
// frames: kept#3 = keeper, main, _start

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

// the third time there is no return address on the stack for 36 KiB
.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #1
    adr x1, middle
    blr x1
    adr x1, leave
    blr x1
    bl roomy
    sub sp, sp, #0x9, lsl #0xc
    bl keeper
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// called through a pointer: middle(x) = keeper(x)
.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl keeper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

// leave(x) = x + 2, and two return addresses below SP, behind calls through pointers
.type leave, %function
leave:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    adr x1, store
    blr x1
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size leave, . - leave

// store(x) = x + 2
.type store, %function
store:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    add x0, x0, #2
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size store, . - store

// roomy(x) = keeper(x): its locals, which it never writes, are where `leave` was
.type roomy, %function
roomy:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #0x50
    bl keeper
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size roomy, . - roomy

// keeper(x) = x + 8: in a register that is its caller's
.type keeper, %function
keeper:
    str x20, [sp, #-0x10]!
    mov x20, x30
    bl helper
kept:
    add x0, x0, #1
    mov x30, x20
    ldr x20, [sp], #0x10
    ret
.size keeper, . - keeper
// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    add x0, x0, #7
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size helper, . - helper
