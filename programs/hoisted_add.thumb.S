// summary: two ways out share one hoisted "add sp": the rows follow it to its new place
// exit: 26
// trap: 7 llvm/llvm-project#220720
// frames: choose_body = choose, main, _start
// frames: helper = helper, choose, main, _start
// frames: hoisted = choose, main, _start
// frames: large_return = choose, main, _start
// frames: small_return = choose, main, _start

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
    sub sp, #8
    .pad #8
main_body:
    movs r0, #1
    bl choose
    str r0, [sp]
    movs r0, #8
    bl choose
    ldr r1, [sp]
    adds r0, r0, r1
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// choose(x) = y + (y < 10 ? 2 : 1) with y = helper(x)
.type choose, %function
.thumb_func
choose:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
choose_body:
    bl helper
    cmp r0, #0xa
    pop.w {r4, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore lr
hoisted:
    blo small
    adds r0, r0, #1
large_return:
    bx lr
small:
    adds r0, r0, #2
small_return:
    bx lr
    .cfi_endproc
    .fnend
.size choose, . - choose

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
