// summary: no frame pointers below main: a caller that only moves SP, a leaf without a frame, a leaf with locals
// exit: 77
// trap: 1 mstange/samply#2, tikv/pprof-rs#75
// trap: 18 libunwind/libunwind#1006, async-profiler/async-profiler#1459
// frames: main_body = main, _start
// frames: middle_body = middle, main, _start
// frames: leaf = leaf, middle, main, _start
// frames: leaf_body = leaf, middle, main, _start
// frames: middle_between = middle, main, _start
// frames: leaf_locals = leaf_locals, middle, main, _start
// frames: leaf_locals_body = leaf_locals, middle, main, _start
// frames: leaf_locals_return = leaf_locals, middle, main, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call main
    mov edi, eax
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
main_body:
    mov edi, 7
    call middle
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// middle(x) = leaf(x) + leaf_locals(x); rbp stays main's
.type middle, @function
middle:
    .cfi_startproc
    sub rsp, 0x18
    .cfi_def_cfa_offset 0x20
middle_body:
    mov qword ptr [rsp + 8], rdi
    call leaf
middle_between:
    mov qword ptr [rsp + 0x10], rax
    mov rdi, qword ptr [rsp + 8]
    call leaf_locals
    add rax, qword ptr [rsp + 0x10]
    add rsp, 0x18
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size middle, . - middle

// leaf(x) = 3 * x, with x in the red zone: below SP, and nobody moves SP
.type leaf, @function
leaf:
    .cfi_startproc
    mov qword ptr [rsp - 8], rdi
leaf_body:
    lea rax, [rdi + rdi]
    add rax, qword ptr [rsp - 8]
    ret
    .cfi_endproc
.size leaf, . - leaf

// leaf_locals(x) = 8 * x, through two locals
.type leaf_locals, @function
leaf_locals:
    .cfi_startproc
    sub rsp, 0x20
    .cfi_def_cfa_offset 0x28
leaf_locals_body:
    mov qword ptr [rsp + 8], rdi
    shl rdi, 3
    mov qword ptr [rsp + 0x10], rdi
    mov rax, qword ptr [rsp + 0x10]
    add rsp, 0x20
    .cfi_def_cfa_offset 8
leaf_locals_return:
    ret
    .cfi_endproc
.size leaf_locals, . - leaf_locals
