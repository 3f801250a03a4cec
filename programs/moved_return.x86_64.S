// summary: a function that moves its return address up into its caller's frame, goes there, and returns from there
// exit: 25
// traits: INEXPRESSIBLE
// trap: 39 https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c
// frames: work_body = work, main, _start
// frames: moves = moves, work, main, _start
// frames: moved = moves, work, main, _start
// frames: turn = moves, work, main, _start
// frames: helper = helper, moves, work, main, _start
// frames: leaving = moves, work, main, _start
// frames: back = work, main, _start

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

// work(x) = moves(x) + 9
.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
work_body:
    sub rsp, 0x40
    lea rsi, [rsp + 0x28]
    call moves
back:
    add eax, 9
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size work, . - work

// moves(x) = helper(x), in a frame that begins in its caller's
.type moves, @function
moves:
    .cfi_startproc
    mov rax, qword ptr [rsp]
    mov qword ptr [rsi], rax
    mov qword ptr [rsi - 8], rbp
    .cfi_offset rbp, 0x20
    mov qword ptr [rsi - 0x10], rbx
    .cfi_offset rbx, 0x18
    mov rbx, rsp
    .cfi_def_cfa_register rbx
    lea rsp, [rsi - 0x10]
    .cfi_offset rip, 0x28
    lea rbp, [rsi - 8]
moved:
    mov ecx, 2
turn:
    dec ecx
    jnz turn
    call helper
    mov rdx, rbx
    .cfi_def_cfa_register rdx
    pop rbx
    .cfi_restore rbx
    pop rbp
    .cfi_restore rbp
leaving:
    ret
    .cfi_endproc
.size moves, . - moves

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
