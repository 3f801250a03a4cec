// summary: an early return without remembering the state: behind it the rows still describe the frame as gone
// exit: 31
// trap: 8 dotnet/runtime#98738, llvm/llvm-project#68984, llvm/llvm-project#125299
// twin: early_return
// wrong: late..late_return
// trap: 8 dotnet/runtime#98738, dotnet/runtime#99103, swiftlang/llvm-project#1082
// frames: classify = classify, main, _start
// frames: early = classify, main, _start
// frames: early_reuse = classify, main, _start
// frames: early_return = classify, main, _start
// frames: late = classify, main, _start
// frames: helper = helper, classify, main, _start
// frames: late_return = classify, main, _start

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
    sub sp, #8
    .pad #8
    movs r0, #3
    bl classify
    str r0, [sp, #4]
    movs r0, #9
    bl classify
    ldr r1, [sp, #4]
    adds r0, r0, r1
    mov sp, r7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// classify(x) = x < 5 ? 2 * x : helper(x) + x
.type classify, %function
.thumb_func
classify:
    .fnstart
    .cfi_startproc
    push {r4, r7, lr}
    .save {r4, r7, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    .cfi_offset r4, -0xc
    add r7, sp, #4
    .setfp r7, sp, #4
    .cfi_def_cfa r7, 8
    sub sp, #4
    .pad #4
    mov r4, r0
    cmp r4, #5
    bhs late
early:
    adds r0, r4, r4
    add sp, #4
    pop.w {r4, r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r4
    .cfi_restore r7
    .cfi_restore lr
    // The frame is gone and its slots are written over: a table that still points at them is wrong from here on.
    push {r1, r2, r3}
    .cfi_def_cfa_offset 0xc
early_reuse:
    add sp, #0xc
    .cfi_def_cfa_offset 0
early_return:
    bx lr
late:
    bl helper
    adds r0, r0, r4
    add sp, #4
    pop.w {r4, r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r4
    .cfi_restore r7
    .cfi_restore lr
late_return:
    bx lr
    .cfi_endproc
    .fnend
.size classify, . - classify

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
