// summary: return addresses of frames that are gone, and code pointers among the locals
// exit: 25
// trap: 20 DynamoRIO/drmemory#557, DynamoRIO/drmemory#851
// frames: main_body = main, _start
// frames: second_body = second, first, main, _start
// frames: keeper_body = keeper, main, _start
// frames: helper#2 = helper, keeper, main, _start

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
    call first
    mov edi, eax
    call keeper
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// first(x) = second(x) + 1: its frame and its callee's stay behind in memory
.type first, @function
first:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call second
    add eax, 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size first, . - first

.type second, @function
second:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call helper
second_body:
    add eax, 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size second, . - second

// keeper(x) = helper(x), with code pointers in its locals and old frames below them
.type keeper, @function
keeper:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x40
    lea rax, [rip + second_body]
    mov qword ptr [rsp + 0x28], rax
    lea rax, [rip + first]
    mov qword ptr [rsp + 0x30], rax
keeper_body:
    call helper
    add rsp, 0x40
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size keeper, . - keeper

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
