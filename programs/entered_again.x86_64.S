// summary: a callee that never returns, in a caller that is entered again: setjmp returns twice, and each time calls it
// exit: 16
// traits: LOST_REGISTER
// frames: main_body = main, _start
// frames: set_jump = set_jump, main, _start
// frames: main_set#1 = main, _start
// frames: inner_body = inner, middle, main, _start
// frames: long_jump = long_jump, inner, middle, main, _start
// frames: main_set#2 = main, _start
// frames: middle#2 = middle, main, _start
// frames: inner#2 = inner, middle, main, _start
// frames: inner_done = inner, middle, main, _start
// frames: landed = main, _start
// frames: helper = helper, main, _start

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
    sub rsp, 0x40
main_body:
    mov rdi, rsp
    call set_jump
main_set:
    mov esi, eax
    mov rdi, rsp
    call middle
landed:
    mov edi, eax
    call helper
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// middle(buffer, value) = inner(buffer, value)
.type middle, @function
middle:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call inner
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size middle, . - middle

// inner(buffer, value) = value, or it does not come back
.type inner, @function
inner:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov eax, esi
    test esi, esi
    jnz inner_done
    mov esi, 9
inner_body:
    call long_jump
inner_done:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size inner, . - inner

.include "fragments/jumps.x86_64.S"

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
