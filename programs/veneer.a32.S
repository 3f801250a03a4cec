// summary: a call through a linker's veneer, which has no table
// exit: 25
// untabled: veneer..helper
// frames: work_body = work, main, _start
// frames: veneer = veneer, work, main, _start
// frames: helper = helper, work, main, _start
// frames: back = work, main, _start

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
    bl work
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) = helper(x) + 9
.type work, %function
work:
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
work_body:
    bl veneer
back:
    add r0, r0, #9
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size work, . - work

// veneer(x) = helper(x), as linkers make one for what is too far to be called
.type veneer, %function
veneer:
    ldr r12, .Lto
    bx r12
.Lto:
    .word helper
.size veneer, . - veneer

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
