// summary: tail calls: direct after an epilogue, then through a register; both callers vanish from the stack
// exit: 46
// trap: 21 llvm/llvm-project#52758
// frames: outer_body = outer, main, _start
// frames: helper#1 = helper, outer, main, _start
// frames: inner = inner, main, _start
// frames: target = target, main, _start
// frames: target_body = target, main, _start
// frames: helper#2 = helper, target, main, _start

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
    mov x0, #0xa
    bl outer
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
    .cfi_endproc
.size helper, . - helper

// Callees first: a jump to the very next address would have no effect that can be watched.

// target(x) = 2 * helper(x)
.type target, %function
target:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
target_body:
    bl helper
    add x0, x0, x0
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size target, . - target

// inner(x): target(2 * x) as a tail call through a register; it never has a frame
.type inner, %function
inner:
    .cfi_startproc
    add x0, x0, x0
    adr x16, target
    br x16
    .cfi_endproc
.size inner, . - inner

// outer(x): inner(helper(x)) as a tail call, after its frame is gone
.type outer, %function
outer:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
outer_body:
    bl helper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    b inner
    .cfi_endproc
.size outer, . - outer
