// summary: a call through a linker's veneer, which has no table
// exit: 25
// untabled: veneer..helper
// frames: work_body = work, main, _start
// frames: veneer = veneer, work, main, _start
// frames: helper = helper, work, main, _start
// frames: back = work, main, _start

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

// work(x) = helper(x) + 9
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
    bl veneer
back:
    add x0, x0, #9
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work

// veneer(x) = helper(x), as linkers make one for what is too far to be called
.type veneer, %function
veneer:
    ldr x16, .Lto
    br x16
.Lto:
    .quad helper
.size veneer, . - veneer

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
