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
.thumb
.cfi_sections .debug_frame

.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, r7
    mov lr, r7
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
.thumb_func
main:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
main_body:
    movs r0, #9
    bl guard
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// guard(x): pushes a handler's address and the handler before it, as OCaml's code does, and calls body
.type guard, %function
.thumb_func
guard:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    push.w {r8, r9}
    .save {r8, r9}
    .cfi_offset r9, -0xc
    .cfi_offset r8, -0x10
    ldr.w r12, .Lcaught_pointer
    push.w {r8, r12}
    mov r8, sp
guard_body:
    bl body
    add sp, #8
caught:
.Lcaught:
    bl helper
    pop.w {r8, r9}
    .cfi_restore r8
    .cfi_restore r9
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size guard, . - guard

// body(x): compares SP with a limit, then raises: its last instruction goes to the handler
.type body, %function
.thumb_func
body:
    .fnstart
    .cfi_startproc
    sub.w r12, sp, #0x100
    cmp.w r12, #0x1000
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
    pop.w {r8, r12}
    bx r12
short_of_stack:
    udf #0
    .cfi_endproc
    .fnend
.size body, . - body

.p2align 2
.Lcaught_pointer:
    .word .Lcaught + 1
// helper(x) = x + 7
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
