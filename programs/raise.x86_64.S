// summary: an exception as OCaml raises it: a check of the stack's limit, and a last instruction that cuts the stack
// exit: 23
// trap: 24 ocaml/ocaml#15037, ocaml/ocaml#7120, oxcaml/oxcaml#5409
// traits: LOST_REGISTER
// frames: guard_body = guard, main, _start
// frames: body = body, guard, main, _start
// frames: raising = body, guard, main, _start
// frames: caught = guard, main, _start
// frames: helper#2 = helper, guard, main, _start

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
    call guard
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// guard(x): pushes a handler's address and the handler before it, as OCaml's code does, and calls body
.type guard, @function
guard:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    push r14
    .cfi_offset r14, -0x18
    sub rsp, 8
    lea rax, [rip + caught]
    push rax
    push r14
    mov r14, rsp
guard_body:
    call body
    add rsp, 0x10
caught:
    call helper
    add rsp, 8
    pop r14
    .cfi_restore r14
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size guard, . - guard

// body(x): compares SP with a limit, then raises: its last instruction returns to the handler
.type body, @function
body:
    .cfi_startproc
    lea rax, [rsp - 0x100]
    cmp rax, 0x1000
    jb short_of_stack
    sub rsp, 0x18
    .cfi_def_cfa_offset 0x20
    call helper
    mov edi, eax
raising:
    mov rsp, r14
    pop r14
    ret
short_of_stack:
    ud2
    .cfi_endproc
.size body, . - body

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
