// summary: Go's conventions: functions that keep SP and the frame pointer only, below a C function that saves the rest
// exit: 42
// convention: main.outer=go
// frames: outer_body = main.outer, crosscall, _start
// frames: inner_body = main.inner.abi0, main.outer, crosscall, _start
// frames: back = crosscall, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call crosscall
    mov edi, eax
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// crosscall() = outer(5), as the entry from C into Go: every register that C keeps is saved here
.type crosscall, @function
crosscall:
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
    mov eax, 5
    xor r14d, r14d
    call main.outer
back:
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
.size crosscall, . - crosscall

// outer(x) = inner(x) + x, by ABIInternal: argument and result in rax, and every other register is free. As Go's tables do,
// this one says nothing of rbp.
.type main.outer, @function
main.outer:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    mov rbp, rsp
    sub rsp, 0x18
    .cfi_def_cfa_offset 0x28
    mov rbx, 7
    mov r12, 8
outer_body:
    mov [rsp], rax
    mov [rsp + 0x10], rax
    call main.inner.abi0
    mov rax, [rsp + 8]
    mov rcx, [rsp + 0x10]
    add rax, rcx
    add rsp, 0x18
    .cfi_def_cfa_offset 0x10
    pop rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size main.outer, . - main.outer

// inner(x) = 7 * x + 2, in registers that C's functions keep; by ABI0: argument and result on the stack
.type main.inner.abi0, @function
main.inner.abi0:
    .cfi_startproc
    mov r13, [rsp + 8]
    lea rbx, [r13*8]
    sub rbx, r13
inner_body:
    mov r15, 2
    add rbx, r15
    mov [rsp + 0x10], rbx
    ret
    .cfi_endproc
.size main.inner.abi0, . - main.inner.abi0
