// summary: a 64 KiB frame whose prologue touches every page in a loop, with the CFA in a scratch register
// exit: 17
// trap: 23 llvm/llvm-project#66524, llvm/llvm-project#68984, openssl/openssl#8853
// traits: INEXPRESSIBLE
// frames: work_probe = work, main, _start
// frames: work_probe#8 = work, main, _start
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

// work(x) = helper(x) + 1 in a frame of 64 KiB, whose pages are touched one after another
.type work, %function
work:
    .cfi_startproc
    str x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x30, -0x10
    mov x10, #0x10000
    mov x11, #0x1000
    mov x12, sp
    sub x9, x12, x10
    .cfi_def_cfa x9, 0x10010
work_probe:
    sub x12, x12, x11
    mov sp, x12
    str xzr, [sp]
    cmp x12, x9
    b.ne work_probe
    .cfi_def_cfa_register sp
work_body:
    bl helper
    add x0, x0, #1
    mov x10, #0x10000
    mov x12, sp
    add x12, x12, x10
    mov sp, x12
    .cfi_def_cfa_offset 0x10
    ldr x30, [sp], #0x10
    .cfi_def_cfa_offset 0
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
