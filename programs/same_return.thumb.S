// summary: a function that calls itself, and leaves for code without a symbol: its caller has the same return address
// exit: 37
// untabled: helper_end..again
// frames: helper = helper, main, _start
// frames: again_leaving#1 = again, again, again, again, main, _start
// frames: again_leaving#4 = again, main, _start

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
    movs r0, #8
    bl helper
    movs r1, #3
    bl again
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// helper(x) = x + 1
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #1
    bx lr
helper_end:
    .cfi_endproc
    .fnend
.size helper, . - helper

    // As a stub of a linkage table in a static program: no symbol, no table (helper's fits it), and nothing on the stack.
    // It adds 7.
.Lstub:
    adds r0, r0, #3
    adds r0, r0, #4
    bx lr

// again(x, n): as many times stub(x), and once more, each of them a tail call
.type again, %function
.thumb_func
again:
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
    beq again_leaving
    subs r1, r1, #1
    bl again
again_leaving:
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    b .Lstub
    .cfi_endproc
    .fnend
.size again, . - again
