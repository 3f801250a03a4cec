// summary: a function that moves its return address up into its caller's frame, goes there, and returns from there
// exit: 25
// traits: INEXPRESSIBLE
// trap: 39 https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c
// frames: work_body = work, main, _start
// frames: moves = moves, work, main, _start
// frames: moved = moves, work, main, _start
// frames: turn = moves, work, main, _start
// frames: helper = helper, moves, work, main, _start
// frames: leaving = moves, work, main, _start
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

// work(x) = moves(x) + 9
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
    sub sp, sp, #0x20
    add r1, sp, #0x10
    bl moves
back:
    adds r0, r0, #9
    mov sp, r7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size work, . - work

// moves(x) = helper(x), in a frame that begins in its caller's
.type moves, %function
.thumb_func
moves:
    .fnstart
    .cfi_startproc
    .pad #-0x1c
    str lr, [r1, #8]
    .cfi_offset lr, 0x18
    str r7, [r1, #4]
    .cfi_offset r7, 0x14
    str r4, [r1]
    .save {r4, r7, lr}
    .cfi_offset r4, 0x10
    mov r4, sp
    .cfi_def_cfa_register r4
    mov sp, r1
    add.w r7, r1, #4
moved:
    movs r2, #2
turn:
    subs r2, r2, #1
    bne turn
    bl helper
    mov r3, r4
    .cfi_def_cfa_register r3
leaving:
    pop {r4, r7, pc}
    .cfi_endproc
    .fnend
.size moves, . - moves

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
