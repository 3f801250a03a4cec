// summary: rules that are DWARF expressions: a CFA, a place counted from the CFA, a value
// exit: 18
// trap: 27 libunwind/libunwind#93
// trap: 31 llvm/llvm-project#161927, llvm/llvm-project#64449
// traits: INEXPRESSIBLE
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

// work(x) = helper(x) + 2, with a CFA and registers that only expressions describe
.type work, %function
.thumb_func
work:
    .fnstart
    .cfi_startproc
    push {r4, lr}
    .save {r4, lr}
    .cfi_offset lr, -4
    // r4 is stored at CFA - 8: the CFA is the first value on the expression's stack
    .cfi_escape 0x10, 4, 2, 0x38, 0x1c
    // the CFA is sp + 8
    .cfi_escape 0x0f, 2, 0x7d, 8
    movs r4, #2
    adds r5, r5, #0x10
    // the caller's r5 is r5 - 16
    .cfi_escape 0x16, 5, 2, 0x75, 0x70
work_body:
    bl helper
    adds r0, r0, r4
    subs r5, r5, #0x10
    .cfi_restore r5
    pop.w {r4, lr}
    .cfi_restore r4
    .cfi_restore lr
    .cfi_def_cfa sp, 0
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
