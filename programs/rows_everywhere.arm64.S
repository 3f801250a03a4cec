// summary: the standard prologue and epilogue with asynchronous rows: right at every instruction
// exit: 27
// trap: 5 llvm/llvm-project#63598
// frames: work_body = work, main, _start
// frames: leaf_pushed = leaf, work, main, _start
// frames: leaf_popped = leaf, work, main, _start
// frames: work_popped = work, main, _start

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

// work(9) = leaf(9) + 9
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
work_pushed:
    mov x29, sp
    .cfi_def_cfa_register x29
work_body:
    bl leaf
    add x0, x0, #9
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
work_popped:
    ret
work_end:
    .cfi_endproc
.size work, . - work

// leaf(x) = 2 * x
.type leaf, %function
leaf:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
leaf_pushed:
    mov x29, sp
    .cfi_def_cfa_register x29
leaf_body:
    add x0, x0, x0
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
leaf_popped:
    ret
leaf_end:
    .cfi_endproc
.size leaf, . - leaf
