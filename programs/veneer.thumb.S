// summary: a call through a linker's veneer, which has no table
// exit: 25
// untabled: veneer..helper
// frames: work_body = work, main, _start
// frames: veneer = veneer, work, main, _start
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
    bl veneer
back:
    adds r0, r0, #9
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size work, . - work

// veneer(x) = helper(x), as linkers make one for what is too far to be called
.type veneer, %function
.thumb_func
veneer:
    ldr.w r12, .Lto
    bx r12
    nop
.Lto:
    .word .Lhelper + 1
.size veneer, . - veneer

// helper(x) = x + 7
.type helper, %function
.thumb_func
helper:
.Lhelper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
