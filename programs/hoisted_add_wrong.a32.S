// summary: two ways out share one hoisted "add sp": the rows stayed behind in both of them
// exit: 26
// trap: 7 llvm/llvm-project#220720
// twin: hoisted_add
// wrong: hoisted..large_return, small..small_return
// frames: choose_body = choose, main, _start
// frames: helper = helper, choose, main, _start
// frames: hoisted = choose, main, _start
// frames: large_return = choose, main, _start
// frames: small_return = choose, main, _start

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
    sub sp, sp, #8
    .pad #8
main_body:
    mov r0, #1
    bl choose
    str r0, [sp]
    mov r0, #8
    bl choose
    ldr r1, [sp]
    add r0, r0, r1
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// choose(x) = y + (y < 10 ? 2 : 1) with y = helper(x)
.type choose, %function
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
    pop {r4, lr}
hoisted:
    blo small
    add r0, r0, #1
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore lr
large_return:
    bx lr
small:
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    add r0, r0, #2
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore lr
small_return:
    bx lr
    .cfi_endproc
    .fnend
.size choose, . - choose

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
