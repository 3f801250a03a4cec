// summary: the frame-pointer register as an ordinary one that has the caller's value again for a while, by chance
// exit: 42
// frames: back#1 = back_again, main, _start
// frames: back#2 = back_again, user, main, _start
// frames: bare_body = record, bare, user, main, _start
// frames: old_body = old, calls_old, user, main, _start

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
    sub rsp, 0x10
    call back_again
    mov qword ptr [rsp], 3
    mov qword ptr [rsp + 8], 0x10
    mov rdi, rsp
    call user
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// user(numbers) = 42, with rbp as what it needs: zero, a small number, the pointer to main's numbers
.type user, @function
user:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
    push rbp
    .cfi_def_cfa_offset 0x18
    .cfi_offset rbp, -0x18
    sub rsp, 0x20
    .cfi_def_cfa_offset 0x38
    xor ebp, ebp
    call back_again
    mov ebp, 0x2e
    call back_again
    mov rbp, rdi
    call back_again
    call bare
    mov ebp, 0x2e
    call calls_old
    sub rsp, 0x20
    .cfi_def_cfa_offset 0x58
    call calls_old
    add rsp, 0x40
    .cfi_def_cfa_offset 0x18
    pop rbp
    .cfi_def_cfa_offset 0x10
    .cfi_restore rbp
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
    mov eax, 0x2a
    ret
    .cfi_endproc
.size user, . - user

// back_again(): rbp is a number, then what the caller had in it, then the number
.type back_again, @function
back_again:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rax, rbp
    mov ebp, 7
    nop
    mov rbp, rax
back:
    nop
    mov ebp, 7
    nop
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size back_again, . - back_again

// bare() calls without a record of its own, with rbp as it came: a pointer to main's numbers
.type bare, @function
bare:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
    mov ebx, 1
    call record
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
    ret
    .cfi_endproc
.size bare, . - bare

.type record, @function
record:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
bare_body:
    nop
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size record, . - record

// calls_old() is called twice, the second time further down the stack
.type calls_old, @function
calls_old:
    .cfi_startproc
    call old
    ret
    .cfi_endproc
.size calls_old, . - calls_old

// old(): the second time, rbp points to where its return address still lies from the first time
.type old, @function
old:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    lea rbp, [rsp + 0x20]
old_body:
    nop
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size old, . - old
