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

    // The trampoline: a return address whose table entry begins before it, where the look-up of a call would find it.
    .cfi_startproc
    .cfi_signal_frame
    .cfi_escape 0xf, 4, 0x77, 0xa0, 1, 6
    .cfi_escape 0x10, 8, 2, 0x77, 0x28
    .cfi_escape 0x10, 9, 2, 0x77, 0x30
    .cfi_escape 0x10, 0xa, 2, 0x77, 0x38
    .cfi_escape 0x10, 0xb, 3, 0x77, 0xc0, 0
    .cfi_escape 0x10, 0xc, 3, 0x77, 0xc8, 0
    .cfi_escape 0x10, 0xd, 3, 0x77, 0xd0, 0
    .cfi_escape 0x10, 0xe, 3, 0x77, 0xd8, 0
    .cfi_escape 0x10, 0xf, 3, 0x77, 0xe0, 0
    .cfi_escape 0x10, 5, 3, 0x77, 0xe8, 0
    .cfi_escape 0x10, 4, 3, 0x77, 0xf0, 0
    .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
    .cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
    .cfi_escape 0x10, 1, 3, 0x77, 0x88, 1
    .cfi_escape 0x10, 0, 3, 0x77, 0x90, 1
    .cfi_escape 0x10, 2, 3, 0x77, 0x98, 1
    .cfi_escape 0x10, 0x10, 3, 0x77, 0xa8, 1
    nop
.type give_back, @function
give_back:
    mov eax, 0xf
    syscall
    .cfi_endproc
give_back_end:
.size give_back, . - give_back
