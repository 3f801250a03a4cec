// summary: a return under a condition: SP moves and the frame is popped only where the flags say so
// exit: 19
// traits: FP_OMITTED
// wrong: conditional..even
// frames: conditional = either, main, _start
// frames: even = either, main, _start
// frames: helper = helper, either, main, _start

// What compilers make of an early return, and of the check of a stack protector. At the instruction that pops under the
// condition there are two frames, by the flags. A row is chosen by the pc: the one here is right where nothing is popped.

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
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    mov r0, #3
    bl either
    mov r4, r0
    mov r0, #4
    bl either
    add r0, r0, r4
    pop {r4, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// either(x) = x odd ? x + 1 : helper(x) + x
.type either, %function
either:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    sub sp, sp, #8
    .pad #8
    .cfi_def_cfa_offset 0x10
    mov r4, r0
    tst r0, #1
    addne r0, r0, #1
    addne sp, sp, #8
conditional:
    popne {r4, pc}
even:
    bl helper
    add r0, r0, r4
    add sp, sp, #8
    .cfi_def_cfa_offset 8
    pop {r4, pc}
    .cfi_endproc
    .fnend
.size either, . - either

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
