// summary: code without a symbol that has the frame-pointer register as an ordinary one, and calls leaves from there
// exit: 38
// untabled: work_end..helper
// frames: work_body = work, main, _start

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
    mov x0, #9
    bl work
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
work_body:
    bl .Lnameless
    bl .Lplain
    add x0, x0, #1
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
work_end:
    .cfi_endproc
.size work, . - work

    // Code made at run time: no symbol, no table; its frame pointer is zero, then a number, then leads to numbers.
.Lnameless:
    stp x29, x30, [sp, #-0x10]!
    mov x29, #0
    bl helper
    mov x29, #0x13
    bl helper
    adr x29, .Lpair
    bl helper
    ldp x29, x30, [sp], #0x10
    ret
    // The same, with a frame pointer that stays its caller's, and a number in the link register behind the call.
.Lplain:
    str x30, [sp, #-0x10]!
    bl helper
    mov x30, #1
    nop
    ldr x30, [sp], #0x10
    ret
.p2align 3
.Lpair:
    .quad 0
    .quad 2
// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
