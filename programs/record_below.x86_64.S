// summary: a record below SP, made for a leaf that makes none: the call puts the return address into it,
//   as in Go's code
// exit: 42
// frames: ahead = filler, main, _start
// frames: zeros = zeros, filler, main, _start
// frames: zeros_body = zeros, filler, main, _start
// frames: behind = filler, main, _start

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
    call filler
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// filler() = 42: it has a record of its own, and below SP another one for the leaf, which would skip filler without it
.type filler, @function
filler:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    sub rsp, 0x10
    .cfi_def_cfa_offset 0x20
    mov rdi, rsp
    mov ecx, 1
again:
    mov qword ptr [rsp - 8], rcx
    mov qword ptr [rsp - 0x10], rbp
    lea rbp, [rsp - 0x10]
ahead:
    call zeros
behind:
    mov rbp, qword ptr [rbp]
    sub ecx, 1
    jns again
    mov eax, dword ptr [rsp]
    add eax, 0x2a
    add rsp, 0x10
    .cfi_def_cfa_offset 0x10
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size filler, . - filler

// zeros(numbers) writes two zeros
.type zeros, @function
zeros:
    .cfi_startproc
    mov qword ptr [rdi], 0
zeros_body:
    mov qword ptr [rdi + 8], 0
    ret
    .cfi_endproc
.size zeros, . - zeros
