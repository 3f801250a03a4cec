// summary: an exception as OCaml raises it: a check of the stack's limit, and a last instruction that cuts the stack
// exit: 23
// trap: 24 ocaml/ocaml#15037, ocaml/ocaml#7120, oxcaml/oxcaml#5409
// traits: LOST_REGISTER
// frames: guard_body = guard, main, _start
// frames: body = body, guard, main, _start
// frames: raising = body, guard, main, _start
// frames: caught = guard, main, _start
// frames: helper#2 = helper, guard, main, _start

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
    bl guard
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// guard(x): pushes a handler's address and the handler before it, as OCaml's code does, and calls body
.type guard, %function
guard:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x26, x27, [sp, #-0x10]!
    .cfi_offset x26, -0x20
    .cfi_offset x27, -0x18
    adr x16, caught
    stp x26, x16, [sp, #-0x10]!
    mov x26, sp
guard_body:
    bl body
    add sp, sp, #0x10
caught:
    bl helper
    ldp x26, x27, [sp], #0x10
    .cfi_restore x26
    .cfi_restore x27
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size guard, . - guard

// body(x): compares SP with a limit, then raises: its last instruction goes to the handler
.type body, %function
body:
    .cfi_startproc
    sub x16, sp, #0x100
    cmp x16, #0x800
    b.lo short_of_stack
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    bl helper
raising:
    mov sp, x26
    .cfi_def_cfa_offset 0
    ldp x26, x16, [sp], #0x10
    br x16
short_of_stack:
    brk #1
    .cfi_endproc
.size body, . - body

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
