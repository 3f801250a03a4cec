// summary: a function with its table entry, and a stale one that overlaps its second half
// exit: 25
// trap: 29 libunwind/libunwind#285
// twin: overlap
// wrong: work_body..work_popped
// recipes: clang-*
// clang-only: directives cannot make entries that overlap
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

// work(x) = helper(x) + x
.type work, %function
work:
    .cfi_startproc
    stp x19, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x19, -0x10
    .cfi_offset x30, -8
    mov x19, x0
work_body:
    bl helper
    add x0, x0, x19
    ldp x19, x30, [sp], #0x10
work_popped:
    .cfi_restore x19
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    ret
work_end:
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

    // An entry that an earlier version of work left behind: its rows are those of a function's first instruction.
    .section .eh_frame,"a",%progbits
.Lcie:
    .long .Lcie_end - .Lcie_start
.Lcie_start:
    .long 0
    .byte 1
    .asciz "zR"
    .byte 1
    .byte 0x7c
    .byte 0x1e
    .byte 1
    .byte 0x1b
    .byte 0x0c, 0x1f, 0
.p2align 3
.Lcie_end:
    .long .Lfde_end - .Lfde_start
.Lfde_start:
    .long .Lfde_start - .Lcie
    .long work_body - .
    .long work_end - work_body
    .byte 0
.p2align 3
.Lfde_end:
