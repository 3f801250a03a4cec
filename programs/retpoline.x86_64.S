// summary: an indirect call through a return trampoline: a call that never returns, and a return that is a jump
// exit: 16
// trap: 35 intel/confidential-computing.sgx#1023
// wrong: thunk_return..thunk_end
// frames: thunk = thunk, work, main, _start
// frames: set_target = set_target, thunk, work, main, _start
// frames: helper = helper, work, main, _start

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

.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    lea rax, [rip + helper]
work_body:
    call thunk
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size work, . - work

// jumps to *rax, and keeps the processor from guessing where
.type thunk, @function
thunk:
    .cfi_startproc
    call set_target
spin:
    pause
    jmp spin
    .cfi_endproc
.size thunk, . - thunk

// throws away where the call came from, and puts the target there
.type set_target, @function
set_target:
    .cfi_startproc
    mov qword ptr [rsp], rax
    // No row can be right here: the return address of the call is written over, and no code will ever use it.
thunk_return:
    ret
thunk_end:
    .cfi_endproc
.size set_target, . - set_target

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
