// summary: signals in a function that was called through a pointer, the second one below 36 KiB of its frame
// exit: 18
// trap: 15 libunwind/libunwind#1061
// signal: at leaf_body handler on_signal restorer give_back
// signal: at leaf_far handler on_signal restorer give_back
// frames: leaf_body = leaf, main, _start
// frames: on_signal = on_signal, give_back, leaf, main, _start
// frames: leaf_far = leaf, main, _start
// frames: give_back = give_back, leaf, main, _start
// frames: main_back = main, _start
// recipes: keystone*

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
    lea rax, [rip + leaf]
    call rax
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
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    add dword ptr [r12], 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size on_signal, . - on_signal

.include "fragments/give_back.x86_64.S"

// leaf(x) = x + 7: behind its first lines, nothing on 36 KiB of the stack looks like a return address
.type leaf, @function
leaf:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
leaf_body:
    sub rsp, 0x9000
leaf_far:
    lea eax, [rdi + 7]
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size leaf, . - leaf
