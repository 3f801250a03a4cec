// summary: frame records at the bottom and at the top of the frame: no fixed distance to the CFA
// exit: 18
// trap: 19 open-telemetry/opentelemetry-ebpf-profiler#1443, async-profiler/async-profiler#1703
// frames: low_body = low, main, _start
// frames: high_body = high, low, main, _start
// frames: helper = helper, high, low, main, _start

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
    bl low
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// low(x) = high(x) + 1, its frame record at the bottom of the frame
.type low, %function
low:
    .fnstart
    .cfi_startproc
    push {r4, r5, r6, r7}
    .cfi_def_cfa_offset 0x10
    .cfi_offset r7, -4
    .cfi_offset r6, -8
    .cfi_offset r5, -0xc
    .cfi_offset r4, -0x10
    .save {r4, r5, r6, r7}
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 0x18
    .cfi_offset lr, -0x14
    .cfi_offset r11, -0x18
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa r11, 0x18
low_body:
    mov r4, r0
    bl high
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa sp, 0x10
    .cfi_restore r11
    .cfi_restore lr
    pop {r4, r5, r6, r7}
    .cfi_def_cfa_offset 0
    .cfi_restore r4
    .cfi_restore r5
    .cfi_restore r6
    .cfi_restore r7
    bx lr
    .cfi_endproc
    .fnend
.size low, . - low

// high(x) = helper(x) + 1, its frame record at the top of the frame
.type high, %function
high:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa r11, 8
    sub sp, sp, #0x20
    .pad #0x20
high_body:
    str r0, [sp]
    bl helper
    add r0, r0, #1
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size high, . - high

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
