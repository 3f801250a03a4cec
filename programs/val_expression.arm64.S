// summary: rules that are DWARF expressions: a CFA, a place counted from the CFA, a value
// exit: 18
// trap: 27 libunwind/libunwind#93
// trap: 31 llvm/llvm-project#161927, llvm/llvm-project#64449
// traits: INEXPRESSIBLE
// frames: work_body = work, main, _start
// frames: helper = helper, work, main, _start

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
    bl work
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// work(x) = helper(x) + 2, with a CFA and registers that only expressions describe
.type work, %function
work:
    .cfi_startproc
    stp x20, x30, [sp, #-0x10]!
    .cfi_offset x30, -8
    // x20 is stored at CFA - 16: the CFA is the first value on the expression's stack
    .cfi_escape 0x10, 0x14, 2, 0x40, 0x1c
    // the CFA is sp + 16
    .cfi_escape 0x0f, 2, 0x8f, 0x10
    mov x20, #2
    add x19, x19, #0x10
    // the caller's x19 is x19 - 16
    .cfi_escape 0x16, 0x13, 2, 0x83, 0x70
work_body:
    bl helper
    add x0, x0, x20
    sub x19, x19, #0x10
    .cfi_restore x19
    ldp x20, x30, [sp], #0x10
    .cfi_restore x20
    .cfi_restore x30
    .cfi_def_cfa sp, 0
    ret
    .cfi_endproc
.size work, . - work

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
