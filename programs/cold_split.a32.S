// summary: a function in two parts: the cold one has a symbol and a table entry that begins in mid-function
// exit: 16
// trap: 22 llvm/llvm-project#125299, ARM-software/abi-aa#327
// traits: SPLIT_FUNCTION
// frames: work = work, main, _start
// frames: work_cold = work_cold, main, _start
// frames: helper = helper, work_cold, main, _start
// frames: work_back = work, main, _start

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

// work(x) = x < 5 ? x : helper(x), the second half in another place
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
    cmp r0, #5
    bhs work_cold
    nop
work_back:
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
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

// Only code that is seldom run lies here; nobody calls it.
.type work_cold, %function
work_cold:
    .fnstart
    .cfi_startproc
    .save {r11, lr}
    .setfp r11, sp
    .cfi_def_cfa r11, 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    bl helper
    b work_back
    .cfi_endproc
    .fnend
.size work_cold, . - work_cold
