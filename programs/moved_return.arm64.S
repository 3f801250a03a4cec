// summary: a function that moves its return address up into its caller's frame, goes there, and returns from there
// exit: 25
// traits: INEXPRESSIBLE
// trap: 39 https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c
// frames: work_body = work, main, _start
// frames: moves = moves, work, main, _start
// frames: moved = moves, work, main, _start
// frames: turn = moves, work, main, _start
// frames: helper = helper, moves, work, main, _start
// frames: leaving = moves, work, main, _start
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

// work(x) = moves(x) + 9
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
    sub sp, sp, #0x50
    add x1, sp, #0x20
    bl moves
back:
    add x0, x0, #9
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size work, . - work

// moves(x) = helper(x), in a frame that begins in its caller's
.type moves, %function
moves:
    .cfi_startproc
    stp x29, x30, [x1]
    .cfi_offset x29, 0x20
    .cfi_offset x30, 0x28
    str x19, [x1, #0x10]
    .cfi_offset x19, 0x30
    mov x19, sp
    .cfi_def_cfa_register x19
    mov sp, x1
    mov x29, x1
moved:
    mov x2, #2
turn:
    subs x2, x2, #1
    b.ne turn
    bl helper
    mov x9, x19
    .cfi_def_cfa_register x9
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_restore x29
    .cfi_restore x30
leaving:
    ret
    .cfi_endproc
.size moves, . - moves

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
