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
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #3
    bl classify
    str x0, [sp, #0x10]
    mov x0, #9
    bl classify
    ldr x1, [sp, #0x10]
    add x0, x0, x1
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// classify(x) = x < 5 ? 2 * x : helper(x) + x
.type classify, %function
classify:
    .cfi_startproc
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    mov x29, sp
    .cfi_def_cfa_register x29
    str x19, [sp, #0x10]
    .cfi_offset x19, -0x10
    mov x19, x0
    cmp x19, #5
    b.hs late
early:
    add x0, x19, x19
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    // The frame is gone and its slots are written over: a table that still points at them is wrong from here on.
    stp xzr, xzr, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    str xzr, [sp, #0x10]
early_reuse:
    add sp, sp, #0x20
    .cfi_def_cfa_offset 0
early_return:
    ret
late:
    bl helper
    add x0, x0, x19
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
late_return:
    ret
    .cfi_endproc
.size classify, . - classify

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
