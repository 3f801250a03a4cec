// summary: a record in which a callee puts the frame further out that an unwinder goes to, as libgcc does
// exit: 24
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// traits: REALIGNED
// frames: install_half = install, raiser, middle, main, _start
// frames: install_done = install, raiser, middle, main, _start
// frames: install_landing = install, raiser, middle, main, _start
// frames: raiser_installed = raiser, middle, main, _start
// frames: middle_back = middle, main, _start

.globl _start
.type _start, %function
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

.type main, %function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov eax, 9
    call middle
    nop
.Lpad:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

.type middle, %function
middle:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call raiser
middle_back:
    add eax, 8
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size middle, . - middle

// raiser(x) = x + 7; it keeps what its table names and what its record has in two places, and the second is written over
.type raiser, %function
raiser:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    push qword ptr [rsp + 8]
    .cfi_def_cfa_offset 0x18
    push rbp
    .cfi_def_cfa_offset 0x20
    mov rbp, rsp
    mov rdi, rbp
    call install
raiser_installed:
    add eax, 7
    add rsp, 0x10
    .cfi_def_cfa_offset 0x10
    pop rbp
    .cfi_def_cfa_offset 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size raiser, . - raiser

// install(x, record): into the record what its caller's has, and then where an exception would land
.type install, %function
install:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov rdx, [rdi]
    mov rcx, [rdx]
    mov rdx, [rdx + 8]
    mov [rdi], rcx
install_half:
    mov [rdi + 8], rdx
install_done:
    lea rdx, [rip + .Lpad]
    mov [rdi + 8], rdx
install_landing:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size install, . - install
