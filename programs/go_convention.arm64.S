// summary: Go's conventions: functions that keep SP and the frame pointer only, below a C function that saves the rest
// exit: 42
// convention: main.outer=go
// frames: outer_body = main.outer, crosscall, _start
// frames: inner_body = main.inner.abi0, main.outer, crosscall, _start
// frames: back = crosscall, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl crosscall
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

// crosscall() = outer(5), as the entry from C into Go: what Go's functions change of what C keeps is saved here
.type crosscall, %function
crosscall:
    .cfi_startproc
    sub sp, sp, #0x40
    .cfi_def_cfa_offset 0x40
    stp x29, x30, [sp]
    .cfi_offset x29, -0x40
    .cfi_offset x30, -0x38
    stp x19, x20, [sp, #0x10]
    .cfi_offset x19, -0x30
    .cfi_offset x20, -0x28
    stp x21, x28, [sp, #0x20]
    .cfi_offset x21, -0x20
    .cfi_offset x28, -0x18
    str d8, [sp, #0x30]
    .cfi_offset d8, -0x10
    mov x0, #5
    mov x28, #0
    bl main.outer
back:
    ldr d8, [sp, #0x30]
    .cfi_restore d8
    ldp x21, x28, [sp, #0x20]
    .cfi_restore x21
    .cfi_restore x28
    ldp x19, x20, [sp, #0x10]
    .cfi_restore x19
    .cfi_restore x20
    ldp x29, x30, [sp]
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #0x40
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size crosscall, . - crosscall

// outer(x) = inner(x) + x, by ABIInternal. The frame pointer is kept below SP, where the record is; as Go's tables do, this one says
// nothing of it.
.type main.outer, %function
main.outer:
    .cfi_startproc
    str x30, [sp, #-0x30]!
    .cfi_def_cfa_offset 0x30
    .cfi_offset x30, -0x30
    stur x29, [sp, #-8]
    sub x29, sp, #8
    mov x19, #7
    mov x20, #8
outer_body:
    str x0, [sp, #8]
    str x0, [sp, #0x18]
    bl main.inner.abi0
    ldr x0, [sp, #0x10]
    ldr x1, [sp, #0x18]
    add x0, x0, x1
    ldp x29, x30, [sp, #-8]
    .cfi_restore x30
    add sp, sp, #0x30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size main.outer, . - main.outer

// inner(x) = 7 * x + 2, in registers that C's functions keep; by ABI0: argument and result on the stack
.type main.inner.abi0, %function
main.inner.abi0:
    .cfi_startproc
    ldr x21, [sp, #8]
    mov x19, #7
    mul x21, x21, x19
    fmov d8, x21
inner_body:
    mov x20, #2
    fmov x19, d8
    add x19, x19, x20
    str x19, [sp, #0x10]
    ret
    .cfi_endproc
.size main.inner.abi0, . - main.inner.abi0
