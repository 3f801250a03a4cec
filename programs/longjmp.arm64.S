// summary: setjmp and longjmp: two callers vanish, and the function that called setjmp goes on
// exit: 16
// trap: 36 https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html
// traits: LOST_REGISTER
// frames: main_body = main, _start
// frames: set_jump = set_jump, main, _start
// frames: main_set#1 = main, _start
// frames: inner_body = inner, middle, main, _start
// frames: long_jump = long_jump, inner, middle, main, _start
// frames: main_set#2 = main, _start
// frames: landed = main, _start
// frames: helper = helper, main, _start

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
    sub sp, sp, #0xb0
main_body:
    mov x0, sp
    bl set_jump
main_set:
    cbnz x0, landed
    mov x0, sp
    bl middle
landed:
    bl helper
    mov sp, x29
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// middle(buffer) = inner(buffer), which does not come back
.type middle, %function
middle:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl inner
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size middle, . - middle

.type inner, %function
inner:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x1, #9
inner_body:
    bl long_jump
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size inner, . - inner

.include "fragments/jumps.arm64.S"

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
