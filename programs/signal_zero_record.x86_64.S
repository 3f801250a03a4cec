// summary: signals in code with FP as a pointer to zeros, which end a chain, as one to data, as a number that is linked to
// exit: 20
// trap: 15 libunwind/libunwind#1061
// signal: at work_body handler on_signal restorer give_back
// signal: at work_later handler on_signal restorer give_back
// signal: at work_pair handler on_signal restorer give_back
// signal: at work_number handler linking restorer give_back
// frames: work_body = work, main, _start
// frames: on_signal = on_signal, give_back, work, main, _start
// frames: count#1 = count, on_signal, give_back, work, main, _start
// frames: count#4 = count, linking, give_back, work, main, _start
// frames: give_back = give_back, work, main, _start
// frames: main_back = main, _start

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
    push 0
    push 0
    push 0
    lea r12, [rbp - 0x10]
    mov rdi, rsp
    call work
main_back:
    add eax, dword ptr [rbp - 0x10]
    add rsp, 0x18
    pop r12
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// counts the signals; rbp stays what it was
.type on_signal, @function
on_signal:
    .cfi_startproc
    sub rsp, 8
    .cfi_def_cfa_offset 0x10
    call count
    add rsp, 8
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size on_signal, . - on_signal

// counts them, too, with a record that links to whatever rbp was
.type linking, @function
linking:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call count
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size linking, . - linking

.type count, @function
count:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    add dword ptr [r12], 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size count, . - count

.include "fragments/give_back.x86_64.S"

// work(numbers) = 16, with rbp as a pointer to the numbers, at first both zero, then neither; then as a number
.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rdi
work_body:
    mov qword ptr [rbp], 0x10
work_later:
    mov dword ptr [rbp + 8], 0xe
work_pair:
    mov eax, dword ptr [rbp]
    mov ebp, 0x12
work_number:
    nop
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size work, . - work
