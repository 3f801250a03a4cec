// summary: stubs of a procedure linkage table that bind lazily: three instructions in, a word deeper
// exit: 16
// trap: 10 parca-dev/parca-agent#1058, https://sourceware.org/bugzilla/show_bug.cgi?id=20830
// traits: SPLIT_FUNCTION, INEXPRESSIBLE
// frames: stub = plt, main, _start
// frames: stub_pushed = plt, main, _start
// frames: plt = plt, main, _start
// frames: resolver = resolver, main, _start
// frames: helper = helper, main, _start
// untabled: plt..plt_end

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
    bl stub
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// No compiler and no linker writes a table for these.
.type plt, %function
plt:
    stp x16, x30, [sp, #-0x10]!
    ldr x17, .Lresolver
    nop
    br x17
stub:
    adr x16, .Lentry
    ldr x17, [x16]
stub_pushed:
    br x17
plt_end:
.size plt, . - plt

.p2align 3
.Lresolver:
    .quad resolver
.Lentry:
    .quad plt
// takes what the stubs pushed, and goes to the function
.type resolver, %function
resolver:
    .cfi_startproc
    .cfi_def_cfa_offset 0x10
    .cfi_offset x30, -8
    ldp x16, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    b helper
    .cfi_endproc
.size resolver, . - resolver

// helper(x) = x + 7
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #7
    ret
    .cfi_endproc
.size helper, . - helper
