// summary: every callee-saved register pushed, clobbered and restored, with a call while all are clobbered
// exit: 40
// frames: keeper_body = keeper, main, _start
// frames: clobber_body = clobber, keeper, main, _start
// frames: clobbered = clobber, keeper, main, _start
// frames: leaf = leaf, clobber, keeper, main, _start
// frames: reuse = clobber, keeper, main, _start
// frames: keeper_check = keeper, main, _start

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
    call keeper
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// keeper() = clobber(), with a bit set for each register that did not keep its value across the call
.type keeper, @function
keeper:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    push rbx
    .cfi_def_cfa_offset 0x18
    .cfi_offset rbx, -0x18
    push r12
    .cfi_def_cfa_offset 0x20
    .cfi_offset r12, -0x20
    push r13
    .cfi_def_cfa_offset 0x28
    .cfi_offset r13, -0x28
    push r14
    .cfi_def_cfa_offset 0x30
    .cfi_offset r14, -0x30
    push r15
    .cfi_def_cfa_offset 0x38
    .cfi_offset r15, -0x38
    sub rsp, 8
    .cfi_def_cfa_offset 0x40
keeper_body:
    mov ebp, 1
    mov ebx, 2
    mov r12d, 3
    mov r13d, 4
    mov r14d, 5
    mov r15d, 6
    call clobber
keeper_check:
    sub rbp, 1
    or rax, rbp
    sub rbx, 2
    or rax, rbx
    sub r12, 3
    or rax, r12
    sub r13, 4
    or rax, r13
    sub r14, 5
    or rax, r14
    sub r15, 6
    or rax, r15
    add rsp, 8
    .cfi_def_cfa_offset 0x38
    pop r15
    .cfi_def_cfa_offset 0x30
    .cfi_restore r15
    pop r14
    .cfi_def_cfa_offset 0x28
    .cfi_restore r14
    pop r13
    .cfi_def_cfa_offset 0x20
    .cfi_restore r13
    pop r12
    .cfi_def_cfa_offset 0x18
    .cfi_restore r12
    pop rbx
    .cfi_def_cfa_offset 0x10
    .cfi_restore rbx
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size keeper, . - keeper

// clobber() = leaf(39), called with every callee-saved register holding something else
.type clobber, @function
clobber:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    push rbx
    .cfi_def_cfa_offset 0x18
    .cfi_offset rbx, -0x18
    push r12
    .cfi_def_cfa_offset 0x20
    .cfi_offset r12, -0x20
    push r13
    .cfi_def_cfa_offset 0x28
    .cfi_offset r13, -0x28
    push r14
    .cfi_def_cfa_offset 0x30
    .cfi_offset r14, -0x30
    push r15
    .cfi_def_cfa_offset 0x38
    .cfi_offset r15, -0x38
    sub rsp, 8
    .cfi_def_cfa_offset 0x40
clobber_body:
    mov ebp, 0x11
    mov ebx, 0x12
    mov r12d, 0x13
    mov r13d, 0x14
    mov r14d, 0x15
    mov r15d, 0x16
clobbered:
    lea rdi, [rbp + 0x16]
    call leaf
    add rsp, 8
    .cfi_def_cfa_offset 0x38
    pop r15
    .cfi_def_cfa_offset 0x30
    .cfi_restore r15
    pop r14
    .cfi_def_cfa_offset 0x28
    .cfi_restore r14
    pop r13
    .cfi_def_cfa_offset 0x20
    .cfi_restore r13
    pop r12
    .cfi_def_cfa_offset 0x18
    .cfi_restore r12
    pop rbx
    .cfi_def_cfa_offset 0x10
    .cfi_restore rbx
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    // The registers are back and their slots are written over: a table that still points at them is wrong from here on.
    mov qword ptr [rsp - 8], rdi
    mov qword ptr [rsp - 0x10], rdi
    mov qword ptr [rsp - 0x18], rdi
    mov qword ptr [rsp - 0x20], rdi
    mov qword ptr [rsp - 0x28], rdi
    mov qword ptr [rsp - 0x30], rdi
reuse:
    ret
    .cfi_endproc
.size clobber, . - clobber

// leaf(x) = x + 1
.type leaf, @function
leaf:
    .cfi_startproc
    lea rax, [rdi + 1]
    ret
    .cfi_endproc
.size leaf, . - leaf
