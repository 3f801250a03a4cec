// summary: jumps written as push and ret: returns that nobody called for
// exit: 33
// trap: 21 https://sourceware.org/gdb/current/onlinedocs/gdb.html/Tail-Call-Frames.html
// frames: work = work, main, _start
// frames: next = work, main, _start
// frames: helper = helper, work, main, _start
// frames: target = target, main, _start

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

// target(x) = x + 10
.type target, @function
target:
    .cfi_startproc
    lea eax, [rdi + 0xa]
    ret
    .cfi_endproc
.size target, . - target

// work(x) = target(helper(x) + x - 2): goes on at the next instruction by a return, then at target by another one
.type work, @function
work:
    .cfi_startproc
    lea rax, [rip + next]
    push rax
    .cfi_def_cfa_offset 0x10
    ret
next:
    .cfi_def_cfa_offset 8
    call helper
    lea edi, [rdi + rax - 2]
    lea rax, [rip + target]
    push rax
    .cfi_def_cfa_offset 0x10
    ret
    .cfi_endproc
.size work, . - work

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
