// summary: start code that calls by a push and a jump, as the first function of a makecontext stack is: nobody else is found
// exit: 23
// frames: leaf#1 = leaf, main, _start
// frames: main_body#2 = main, _start

.intel_syntax noprefix

.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov edi, 9
    lea rax, [rip + back]
    push rax
    jmp main
back:
    mov edi, eax
    sub rsp, 0x9000
    lea rax, [rip + back_below]
    push rax
    jmp main
back_below:
    mov edi, eax
    mov eax, 0x3c
    syscall
    .cfi_endproc
.size _start, . - _start

// main(x) = leaf(x): above its return address the stack has no other, the second time for 36 KiB
.type main, @function
main:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
main_body:
    call leaf
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// leaf(x) = x + 7
.type leaf, @function
leaf:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size leaf, . - leaf
