// summary: code without a symbol that has the frame-pointer register as an ordinary one, and calls leaves from there
// exit: 38
// untabled: work_end..helper
// frames: work_body = work, main, _start

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
    movs r0, #9
    bl work
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

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
work_body:
    bl .Lnameless
    bl .Lplain
    adds r0, r0, #1
    pop.w {r7, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
work_end:
    .cfi_endproc
    .fnend
.size work, . - work

    // Code made at run time: no symbol, no table (work's fits it); its frame pointer is zero, then a number, then leads to numbers.
.Lnameless:
    push {r7, lr}
    movs r7, #0
    bl helper
    movs r7, #0x13
    bl helper
    ldr r2, .Lpair_pointer
    mov r7, r2
    bl helper
    pop.w {r7, lr}
    bx lr
    // The same, with a frame pointer that stays its caller's, and a number in the link register behind the call.
.Lplain:
    push {r7, lr}
    bl helper
    movs r1, #1
    mov lr, r1
    nop
    pop.w {r7, lr}
    bx lr
.p2align 2
.Lpair_pointer:
    .word .Lpair
.Lpair:
    .word 0
    .word 2
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
