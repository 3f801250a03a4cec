// summary: a leaf below two callers, each with the standard frame-pointer prologue and epilogue
// exit: 42
// trap: 1 mstange/framehop#4, mstange/samply#2, open-telemetry/opentelemetry-ebpf-profiler#1578
// frames: main_body = main, _start
// frames: middle_body = middle, main, _start
// frames: leaf = leaf, middle, main, _start
// frames: leaf_body = leaf, middle, main, _start
// frames: leaf_return = leaf, middle, main, _start

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
    mov edi, 6
    call middle
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// middle(x) = leaf(x) + x, with x kept in the frame across the call
.type middle, @function
middle:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x10
middle_body:
    mov qword ptr [rbp - 8], rdi
    call leaf
    add rax, qword ptr [rbp - 8]
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size middle, . - middle

// leaf(x) = 6 * x
.type leaf, @function
leaf:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
leaf_body:
    lea rax, [rdi + rdi * 2]
    add rax, rax
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
leaf_return:
    ret
    .cfi_endproc
.size leaf, . - leaf
