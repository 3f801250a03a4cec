// summary: a signal in another signal's handler, at its first instruction
// exit: 18
// trap: 15 libunwind/libunwind#924, libunwind/libunwind#1061
// signal: at leaf_body handler on_signal restorer give_back
// signal: at on_signal handler on_second restorer give_back
// frames: on_signal#2 = on_signal, give_back, leaf, main, _start
// frames: on_second_body = on_second, give_back, on_signal, give_back, leaf, main, _start
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
    lea r12, [rbp - 0x10]
main_body:
    mov edi, 9
    call leaf
main_back:
    add eax, dword ptr [rbp - 0x10]
    add rsp, 8
    pop r12
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// counts the signals
.type on_signal, @function
on_signal:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
on_signal_linking:
    mov rbp, rsp
    .cfi_def_cfa_register rbp
on_signal_body:
    add dword ptr [r12], 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
on_signal_popped:
    ret
    .cfi_endproc
.size on_signal, . - on_signal

// counts the signals
.type on_second, @function
on_second:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
on_second_linking:
    mov rbp, rsp
    .cfi_def_cfa_register rbp
on_second_body:
    add dword ptr [r12], 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
on_second_popped:
    ret
    .cfi_endproc
.size on_second, . - on_second

.include "fragments/give_back.x86_64.S"

// leaf(x) = x + 7
.type leaf, @function
leaf:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
leaf_linking:
    mov rbp, rsp
    .cfi_def_cfa_register rbp
leaf_body:
    lea eax, [rdi + 7]
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
leaf_popped:
    ret
    .cfi_endproc
.size leaf, . - leaf
