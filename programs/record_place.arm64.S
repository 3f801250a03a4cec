// summary: frame records at the bottom and at the top of the frame: no fixed distance to the CFA
// exit: 18
// trap: 19 open-telemetry/opentelemetry-ebpf-profiler#1443, async-profiler/async-profiler#1703
// frames: low_body = low, main, _start
// frames: high_body = high, low, main, _start
// frames: helper = helper, high, low, main, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
main_body:
    mov x0, #9
    bl low
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// low(x) = high(x) + 1, its frame record at the bottom of the frame
.type low, %function
low:
    .cfi_startproc
    sub sp, sp, #0x30
    .cfi_def_cfa_offset 0x30
    stp x29, x30, [sp]
    .cfi_offset x29, -0x30
    .cfi_offset x30, -0x28
    mov x29, sp
    .cfi_def_cfa x29, 0x30
low_body:
    str x0, [sp, #0x20]
    bl high
    add x0, x0, #1
    mov sp, x29
    ldp x29, x30, [sp]
    .cfi_def_cfa sp, 0x30
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #0x30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size low, . - low

// high(x) = helper(x) + 1, its frame record at the top of the frame
.type high, %function
high:
    .cfi_startproc
    sub sp, sp, #0x40
    .cfi_def_cfa_offset 0x40
    stp x29, x30, [sp, #0x30]
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    add x29, sp, #0x30
    .cfi_def_cfa x29, 0x10
high_body:
    str x0, [sp, #0x20]
    bl helper
    add x0, x0, #1
    ldp x29, x30, [sp, #0x30]
    .cfi_def_cfa sp, 0x40
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #0x40
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size high, . - high

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
