// summary: code without a symbol that has the frame-pointer register as an ordinary one, and calls leaves from there
// exit: 38
// untabled: work_end..helper
// frames: work_body = work, main, _start

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
    mov r0, #9
    bl work
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

.type work, %function
work:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
work_body:
    bl .Lnameless
    bl .Lplain
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
work_end:
    .cfi_endproc
    .fnend
.size work, . - work

    // Code made at run time: no symbol, no table (work's fits it); its frame pointer is zero, then a number, then leads to numbers.
.Lnameless:
    push {r11, lr}
    mov r11, #0
    bl helper
    mov r11, #0x13
    bl helper
    ldr r2, .Lpair_pointer
    mov r11, r2
    bl helper
    pop {r11, lr}
    bx lr
    // The same, with a frame pointer that stays its caller's, and a number in the link register behind the call.
.Lplain:
    push {r11, lr}
    bl helper
    mov lr, #1
    nop
    pop {r11, lr}
    bx lr
.p2align 2
.Lpair_pointer:
    .word .Lpair
.Lpair:
    .word 0
    .word 2
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
