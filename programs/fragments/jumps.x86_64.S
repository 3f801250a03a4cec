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
