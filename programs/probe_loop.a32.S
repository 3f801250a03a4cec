// summary: a 64 KiB frame whose prologue touches every page in a loop, with the CFA in a scratch register
// exit: 17
// trap: 23 llvm/llvm-project#66524, llvm/llvm-project#68984, openssl/openssl#8853
// traits: INEXPRESSIBLE
// frames: work_probe = work, main, _start
// frames: work_probe#8 = work, main, _start
// frames: work_body = work, main, _start
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
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) = helper(x) + 1 in a frame of 64 KiB, whose pages are touched one after another
.type work, %function
work:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    sub r12, sp, #0x10000
    .cfi_def_cfa r12, 0x10008
    .pad #0x10000
    mov r1, #0
work_probe:
    sub sp, sp, #0x1000
    str r1, [sp]
    cmp r12, sp
    bne work_probe
    .cfi_def_cfa_register sp
work_body:
    bl helper
    add r0, r0, #1
    add sp, sp, #0x10000
    .cfi_def_cfa_offset 8
    pop {r4, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

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
