// summary: OCaml's convention: no register is kept, below a function of the runtime that saves all that C keeps
// exit: 42
// frames: outer_body = camlMain__outer_1, caml_start_program, _start
// frames: inner_body = camlMain__inner_2, camlMain__outer_1, caml_start_program, _start
// frames: back = caml_start_program, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call caml_start_program
    mov edi, eax
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// start_program() = outer(5), which follows C's convention
.type caml_start_program, @function
caml_start_program:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
    push rbp
    .cfi_def_cfa_offset 0x18
    .cfi_offset rbp, -0x18
    push r12
    .cfi_def_cfa_offset 0x20
    .cfi_offset r12, -0x20
    push r13
    .cfi_def_cfa_offset 0x28
    .cfi_offset r13, -0x28
    push r14
    .cfi_def_cfa_offset 0x30
    .cfi_offset r14, -0x30
    push r15
    .cfi_def_cfa_offset 0x38
    .cfi_offset r15, -0x38
    sub rsp, 8
    .cfi_def_cfa_offset 0x40
    mov eax, 5
    mov r14d, 0x1000
    mov r15d, 0x2000
    call camlMain__outer_1
back:
    add rsp, 8
    .cfi_def_cfa_offset 0x38
    pop r15
    .cfi_def_cfa_offset 0x30
    .cfi_restore r15
    pop r14
    .cfi_def_cfa_offset 0x28
    .cfi_restore r14
    pop r13
    .cfi_def_cfa_offset 0x20
    .cfi_restore r13
    pop r12
    .cfi_def_cfa_offset 0x18
    .cfi_restore r12
    pop rbp
    .cfi_def_cfa_offset 0x10
    .cfi_restore rbp
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
    ret
    .cfi_endproc
.size caml_start_program, . - caml_start_program

// outer(x) = inner(x) + x, with x in the frame across the call, since no register keeps it
.globl camlMain__outer_1
.type camlMain__outer_1, @function
camlMain__outer_1:
    .cfi_startproc
    sub rsp, 0x18
    .cfi_def_cfa_offset 0x20
    mov ebp, 7
    mov r12, 8
outer_body:
    mov [rsp], rax
    call camlMain__inner_2
    add rax, [rsp]
    sub r15, 0x10
    add rsp, 0x18
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size camlMain__outer_1, . - camlMain__outer_1

// inner(x) = 7 * x + 2, with an allocation, which moves r15
.type camlMain__inner_2, @function
camlMain__inner_2:
    .cfi_startproc
    mov r13, rax
    lea rbx, [r13*8]
    sub rbx, r13
    sub r15, 0x10
inner_body:
    mov ebp, 2
    lea rax, [rbx + rbp]
    ret
    .cfi_endproc
.size camlMain__inner_2, . - camlMain__inner_2
