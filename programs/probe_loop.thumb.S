// summary: a 64 KiB frame whose prologue touches every page in a loop, with the CFA in a scratch register
// exit: 17
// trap: 23 llvm/llvm-project#66524, llvm/llvm-project#68984, openssl/openssl#8853
// traits: INEXPRESSIBLE
// frames: work_probe = work, main, _start
// frames: work_probe#8 = work, main, _start
// frames: work_body = work, main, _start
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
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// work(x) = helper(x) + 1 in a frame of 64 KiB, whose pages are touched one after another
.type work, %function
.thumb_func
work:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    sub.w r12, sp, #0x10000
    .cfi_def_cfa r12, 0x10008
    .pad #0x10000
    movs r1, #0
work_probe:
    sub.w sp, sp, #0x1000
    str r1, [sp]
    cmp r12, sp
    bne work_probe
    .cfi_def_cfa_register sp
work_body:
    bl helper
    adds r0, r0, #1
    add.w sp, sp, #0x10000
    .cfi_def_cfa_offset 8
    pop.w {r4, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size work, . - work

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
