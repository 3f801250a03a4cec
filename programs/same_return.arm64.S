// summary: a function that calls itself, and leaves for code without a symbol: its caller has the same return address
// exit: 37
// untabled: helper_end..again
// frames: helper = helper, main, _start
// frames: again_leaving#1 = again, again, again, again, main, _start
// frames: again_leaving#4 = again, main, _start

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
    mov x0, #8
    bl helper
    mov x1, #3
    bl again
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// helper(x) = x + 1
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #1
    ret
helper_end:
    .cfi_endproc
.size helper, . - helper

    // As a stub of a linkage table in a static program: no symbol, no table, and nothing on the stack. It adds 7.
.Lstub:
    add x0, x0, #3
    add x0, x0, #4
    ret

// again(x, n): as many times stub(x), and once more, each of them a tail call
.type again, %function
again:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    cbz x1, again_leaving
    sub x1, x1, #1
    bl again
again_leaving:
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    b .Lstub
    .cfi_endproc
.size again, . - again
