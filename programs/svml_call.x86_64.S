// summary: a function of SVML's name, which keeps vector registers that C functions may change, and is called with values in them
// exit: 42
// frames: sine_body = __svml_sin2, main, _start
// frames: after = main, _start

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

// main() = __svml_sin2(2) + 40, with the 40 in xmm8 across the call
.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov eax, 0x28
    movq xmm8, rax
    mov eax, 2
    movq xmm0, rax
    call __svml_sin2
after:
    movq rax, xmm8
    movq rcx, xmm0
    add rax, rcx
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// sin2(x) = x, with another value in xmm8 for a while
.type __svml_sin2, @function
__svml_sin2:
    .cfi_startproc
    sub rsp, 0x18
    .cfi_def_cfa_offset 0x20
    movups [rsp], xmm8
sine_body:
    movaps xmm8, xmm0
    movaps xmm0, xmm8
    movups xmm8, [rsp]
    add rsp, 0x18
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size __svml_sin2, . - __svml_sin2
