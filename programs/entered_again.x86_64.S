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

// set_jump(buffer) = 0, or what long_jump gives it
.type set_jump, @function
set_jump:
    .cfi_startproc
    mov qword ptr [rdi], rbx
    mov qword ptr [rdi + 8], rbp
    mov qword ptr [rdi + 0x10], r12
    mov qword ptr [rdi + 0x18], r13
    mov qword ptr [rdi + 0x20], r14
    mov qword ptr [rdi + 0x28], r15
    lea rax, [rsp + 8]
    mov qword ptr [rdi + 0x30], rax
    mov rax, qword ptr [rsp]
    mov qword ptr [rdi + 0x38], rax
    xor eax, eax
    ret
    .cfi_endproc
.size set_jump, . - set_jump

// long_jump(buffer, value): what is loaded is the target's, and the caller's values are lost
.type long_jump, @function
long_jump:
    .cfi_startproc
    mov eax, esi
    mov rbx, qword ptr [rdi]
    .cfi_undefined rbx
    mov r12, qword ptr [rdi + 0x10]
    .cfi_undefined r12
    mov r13, qword ptr [rdi + 0x18]
    .cfi_undefined r13
    mov r14, qword ptr [rdi + 0x20]
    .cfi_undefined r14
    mov r15, qword ptr [rdi + 0x28]
    .cfi_undefined r15
    mov rdx, qword ptr [rdi + 0x38]
    mov rbp, qword ptr [rdi + 8]
    .cfi_undefined rbp
jumping:
    mov rsp, qword ptr [rdi + 0x30]
    jmp rdx
    .cfi_endproc
.size long_jump, . - long_jump

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
