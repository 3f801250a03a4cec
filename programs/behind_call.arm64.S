// summary: data behind a call: the callee takes it and returns behind it
// exit: 37
// trap: 37 https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S
// frames: work_body = work, main, _start
// frames: take = take, work, main, _start
// frames: take_return = take, work, main, _start
// frames: after = work, main, _start
// frames: helper = helper, work, main, _start

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

// work(x) = take() + helper(x)
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    str x19, [sp, #0x10]
    .cfi_offset x19, -0x10
    mov x29, sp
    .cfi_def_cfa_register x29
work_body:
    mov x19, x0
    bl take
    .word 0x15
after:
    mov x1, x0
    mov x0, x19
    mov x19, x1
    bl helper
    add x0, x0, x19
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work

// take() is the word behind the call
.type take, %function
take:
    .cfi_startproc
    ldr w0, [x30]
    add x30, x30, #4
take_return:
    ret
    .cfi_endproc
.size take, . - take

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
