// summary: a call in two instructions: the address to come back to is made first, then comes a jump
// exit: 25
// trap: 38 mgba-emu/mgba#1832
// frames: work_body = work, main, _start
// frames: made = work, main, _start
// frames: helper = helper, work, main, _start
// frames: back = work, main, _start

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
    bl work
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) = helper(x) + 9
.type work, %function
.thumb_func
work:
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
work_body:
    mov r1, pc
    adds r1, #7
    mov lr, r1
made:
    b.w helper
back:
    adds r0, r0, #9
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size work, . - work

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
