// summary: an exception as OCaml raises it: a check of the stack's limit, and a last instruction that cuts the stack
// exit: 23
// trap: 24 ocaml/ocaml#15037, ocaml/ocaml#7120, oxcaml/oxcaml#5409
// traits: LOST_REGISTER
// frames: guard_body = guard, main, _start
// frames: body = body, guard, main, _start
// frames: raising = body, guard, main, _start
// frames: caught = guard, main, _start
// frames: helper#2 = helper, guard, main, _start

.syntax unified
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
main_body:
    mov r0, #9
    bl guard
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// guard(x): pushes a handler's address and the handler before it, as OCaml's code does, and calls body
.type guard, %function
guard:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    push {r8, r9}
    .save {r8, r9}
    .cfi_offset r9, -0xc
    .cfi_offset r8, -0x10
    adr r12, caught
    push {r8, r12}
    mov r8, sp
guard_body:
    bl body
    add sp, sp, #8
caught:
    bl helper
    pop {r8, r9}
    .cfi_restore r8
    .cfi_restore r9
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size guard, . - guard

// body(x): compares SP with a limit, then raises: its last instruction goes to the handler
.type body, %function
body:
    .fnstart
    .cfi_startproc
    sub r12, sp, #0x100
    cmp r12, #0x1000
    blo short_of_stack
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    bl helper
raising:
    mov sp, r8
    .cfi_def_cfa_offset 0
    pop {r8, r12}
    bx r12
short_of_stack:
    udf #0
    .cfi_endproc
    .fnend
.size body, . - body

// helper(x) = x + 7
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    add r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
