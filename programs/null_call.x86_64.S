// summary: a call through a null pointer: no function, no table, no image, and the fault's handler on top of it
// exit: 16
// trap: 16 libunwind/libunwind#106, libunwind/libunwind#235
// signal: at fault handler on_fault restorer give_back
// frames: work_body = work, main, _start
// frames: on_fault = on_fault, give_back, 0x0, work, main, _start
// frames: give_back = give_back, 0x0, work, main, _start
// frames: work_back = work, main, _start

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
    mov edi, 9
    call work
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// work(x) calls through a null pointer; the handler makes it a function that returns at once
.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    xor eax, eax
work_body:
    call rax
work_back:
    lea eax, [rdi + 7]
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size work, . - work

// returns for the code that is not there
.type on_fault, @function
on_fault:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
on_fault_body:
    mov rax, qword ptr [rdx + 0xa0]
    mov rcx, qword ptr [rax]
leaving:
    mov qword ptr [rdx + 0xa8], rcx
    add rax, 8
    mov qword ptr [rdx + 0xa0], rax
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size on_fault, . - on_fault

.include "fragments/give_back.x86_64.S"
