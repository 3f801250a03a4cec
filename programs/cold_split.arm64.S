// summary: a function in two parts: the cold one has a symbol and a table entry that begins in mid-function
// exit: 16
// trap: 22 llvm/llvm-project#125299, ARM-software/abi-aa#327
// traits: SPLIT_FUNCTION
// frames: work = work, main, _start
// frames: work_cold = work_cold, main, _start
// frames: helper = helper, work_cold, main, _start
// frames: work_back = work, main, _start

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

// work(x) = x < 5 ? x : helper(x), the second half in another place
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    cmp x0, #5
    b.hs work_cold
    nop
work_back:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
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

// Only code that is seldom run lies here; nobody calls it.
.type work_cold, %function
work_cold:
    .cfi_startproc
    .cfi_def_cfa x29, 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    bl helper
    b work_back
    .cfi_endproc
.size work_cold, . - work_cold
