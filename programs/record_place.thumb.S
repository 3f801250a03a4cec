// summary: frame records at the bottom and at the top of the frame: no fixed distance to the CFA
// exit: 18
// trap: 19 open-telemetry/opentelemetry-ebpf-profiler#1443, async-profiler/async-profiler#1703
// frames: low_body = low, main, _start
// frames: high_body = high, low, main, _start
// frames: helper = helper, high, low, main, _start

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
    bl low
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// low(x) = high(x) + 1, its frame record at the bottom of the frame
.type low, %function
.thumb_func
low:
    .fnstart
    .cfi_startproc
    push {r4, r5, r6}
    .cfi_def_cfa_offset 0xc
    .cfi_offset r6, -4
    .cfi_offset r5, -8
    .cfi_offset r4, -0xc
    .save {r4, r5, r6}
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 0x14
    .cfi_offset lr, -0x10
    .cfi_offset r7, -0x14
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa r7, 0x14
low_body:
    mov r4, r0
    bl high
    adds r0, r0, #1
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0xc
    .cfi_restore r7
    .cfi_restore lr
    pop {r4, r5, r6}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r5
    .cfi_restore r6
    bx lr
    .cfi_endproc
    .fnend
.size low, . - low

// high(x) = helper(x) + 1, its frame record at the top of the frame
.type high, %function
.thumb_func
high:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa r7, 8
    sub sp, #0x20
    .pad #0x20
high_body:
    str r0, [sp]
    bl helper
    adds r0, r0, #1
    mov sp, r7
    pop.w {r7, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r7
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size high, . - high

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
