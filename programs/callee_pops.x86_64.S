// summary: arguments pushed around a call, and a callee that pops them with its return
// exit: 42
// trap: 28 gimli-rs/gimli#130, gimli-rs/gimli#319, gimli-rs/unwind-rs#19
// frames: main_body = main, _start
// frames: sum#1 = sum, main, _start
// frames: sum_return#1 = sum, main, _start
// frames: main_popped = main, _start
// frames: work = work, main, _start
// frames: work_pushed = work, main, _start
// frames: sum#2 = sum, work, main, _start
// frames: work_popped = work, main, _start

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
    push 0x14
    .cfi_escape 0x2e, 8
    push 8
    .cfi_escape 0x2e, 0x10
    call sum
main_popped:
    .cfi_escape 0x2e, 0
    mov edi, eax
    call work
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// sum(a, b) = a + b; takes both from the stack
.type sum, @function
sum:
    .cfi_startproc
    mov rax, qword ptr [rsp + 8]
    add rax, qword ptr [rsp + 0x10]
sum_return:
    ret 0x10
    .cfi_endproc
.size sum, . - sum

// work(x) = sum(x, 14), with the CFA counted from rsp
.type work, @function
work:
    .cfi_startproc
    push 0xe
    .cfi_def_cfa_offset 0x10
    push rdi
    .cfi_def_cfa_offset 0x18
work_pushed:
    call sum
    .cfi_def_cfa_offset 8
work_popped:
    ret
    .cfi_endproc
.size work, . - work
