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

.syntax unified
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
main_body:
    mov r0, #9
    bl stub
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// No compiler and no linker writes a table for these.
.type plt, %function
plt:
    push {r12, lr}
    ldr lr, .Lresolver
    nop
    bx lr
stub:
    ldr r12, .Lentry
    nop
stub_pushed:
    bx r12
plt_end:
.size plt, . - plt

.p2align 2
.Lresolver:
    .word resolver
.Lentry:
    .word plt
// takes what the stubs pushed, and goes to the function
.type resolver, %function
resolver:
    .fnstart
    .cfi_startproc
    .save {lr}
    .pad #4
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    pop {r12, lr}
    .cfi_def_cfa_offset 0
    .cfi_restore lr
    b helper
    .cfi_endproc
    .fnend
.size resolver, . - resolver

// helper(x) = x + 7
.type helper, %function
helper:
    .fnstart
    .cfi_startproc
    add r0, r0, #7
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper
