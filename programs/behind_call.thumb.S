// summary: data behind a call: the callee takes it and returns behind it
// exit: 37
// trap: 37 https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S
// frames: work_body = work, main, _start
// frames: take = take, work, main, _start
// frames: take_return = take, work, main, _start
// frames: after = work, main, _start
// frames: helper = helper, work, main, _start

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

// work(x) = take() + helper(x)
.type work, %function
.thumb_func
work:
    .fnstart
    .cfi_startproc
    push {r4, r5, r7, lr}
    .save {r4, r5, r7, lr}
    .cfi_def_cfa_offset 0x10
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    .cfi_offset r5, -0xc
    .cfi_offset r4, -0x10
    add r7, sp, #8
    .setfp r7, sp, #8
    .cfi_def_cfa r7, 8
work_body:
    mov r4, r0
    bl take
    .word 0x15
after:
    mov r5, r0
    mov r0, r4
    bl helper
    adds r0, r0, r5
    pop {r4, r5, r7, pc}
    .cfi_endproc
    .fnend
.size work, . - work

// take() is the word behind the call
.type take, %function
.thumb_func
take:
    .fnstart
    .cfi_startproc
    mov r1, lr
    subs r1, r1, #1
    ldr r0, [r1]
    adds r1, r1, #5
    mov lr, r1
take_return:
    bx lr
    .cfi_endproc
    .fnend
.size take, . - take

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
