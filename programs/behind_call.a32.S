// summary: data behind a call: the callee takes it and returns behind it
// exit: 37
// trap: 37 https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S
// frames: work_body = work, main, _start
// frames: take = take, work, main, _start
// frames: take_return = take, work, main, _start
// frames: after = work, main, _start
// frames: helper = helper, work, main, _start

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

// work(x) = take() + helper(x)
.type work, %function
work:
    .fnstart
    .cfi_startproc
    push {r4, r5, r11, lr}
    .save {r4, r5, r11, lr}
    .cfi_def_cfa_offset 0x10
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r5, -0xc
    .cfi_offset r4, -0x10
    add r11, sp, #8
    .setfp r11, sp, #8
    .cfi_def_cfa r11, 8
work_body:
    mov r4, r0
    bl take
    .word 0x15
after:
    mov r5, r0
    mov r0, r4
    bl helper
    add r0, r0, r5
    pop {r4, r5, r11, pc}
    .cfi_endproc
    .fnend
.size work, . - work

// take() is the word behind the call
.type take, %function
take:
    .fnstart
    .cfi_startproc
    ldr r0, [lr]
    add lr, lr, #4
take_return:
    bx lr
    .cfi_endproc
    .fnend
.size take, . - take

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
