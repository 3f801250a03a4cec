// summary: a coroutine whose first function is not marked as the end of its stack
// exit: 23
// trap: 26 tarantool/tarantool#6889, sustrik/libdill#64, ytsaurus/ytsaurus#1135
// traits: OPEN_END, OTHER_STACK
// frames: main_body = main, _start
// frames: coroutine#1 = coroutine
// frames: work_body#1 = work, coroutine
// frames: swap#2 = swap, work, coroutine
// frames: back_first = main, _start
// frames: work_resumed = work, coroutine
// frames: work_body#2 = work, coroutine
// frames: back_second = main, _start

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
    push r12
    .cfi_offset r12, -0x18
    sub rsp, 0x18
    mov r12, rsp
    mov rax, qword ptr [rip + .Lstack_pointer]
    lea rcx, [rip + coroutine]
    mov qword ptr [rax - 0x10], rcx
    lea rcx, [rip + swap]
    mov qword ptr [rax - 8], rcx
    mov qword ptr [rax - 0x18], 0x51
    mov qword ptr [rax - 0x20], r12
    sub rax, 0x20
    mov qword ptr [r12 + 8], rax
    mov eax, 9
main_body:
    mov rdi, r12
    lea rsi, [r12 + 8]
    call swap
back_first:
    mov rdi, r12
    lea rsi, [r12 + 8]
    call swap
back_second:
    add rsp, 0x18
    pop r12
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// the first function on its stack: nobody called it
.type coroutine, @function
coroutine:
    .cfi_startproc
    call work
    jmp coroutine
    .cfi_endproc
.size coroutine, . - coroutine

.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
work_body:
    add eax, 7
    lea rdi, [r12 + 8]
    mov rsi, r12
    call swap
work_resumed:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size work, . - work

// swap(from, to): keeps the caller's registers and SP on its own stack, and takes another's
.type swap, @function
swap:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    push r12
    .cfi_def_cfa_offset 0x18
    .cfi_offset r12, -0x18
    mov qword ptr [rdi], rsp
    mov rsp, qword ptr [rsi]
    pop r12
    .cfi_def_cfa_offset 0x10
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size swap, . - swap

.p2align 3
.Lstack_pointer:
    .quad .Lstack
.bss
    .space 0x2000
.Lstack:
    .space 0x40
