// summary: a callee that never returns, in a caller that is entered again: setjmp returns twice, and each time calls it
// exit: 16
// traits: LOST_REGISTER
// frames: main_body = main, _start
// frames: set_jump = set_jump, main, _start
// frames: main_set#1 = main, _start
// frames: inner_body = inner, middle, main, _start
// frames: long_jump = long_jump, inner, middle, main, _start
// frames: main_set#2 = main, _start
// frames: middle#2 = middle, main, _start
// frames: inner#2 = inner, middle, main, _start
// frames: inner_done = inner, middle, main, _start
// frames: landed = main, _start
// frames: helper = helper, main, _start

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
    sub sp, #0x68
    .pad #0x68
main_body:
    mov r0, sp
    bl set_jump
main_set:
    mov r1, r0
    mov r0, sp
    bl middle
landed:
    bl helper
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// middle(buffer, value) = inner(buffer, value)
.type middle, %function
.thumb_func
middle:
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
    bl inner
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size middle, . - middle

// inner(buffer, value) = value, or it does not come back
.type inner, %function
.thumb_func
inner:
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
    cmp r1, #0
    bne inner_value
    movs r1, #9
inner_body:
    bl long_jump
inner_value:
    mov r0, r1
inner_done:
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size inner, . - inner

.include "fragments/jumps.thumb.S"

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
