// summary: calls through the global offset table instead of a linkage table, and functions that begin with a branch target
// exit: 22
// trap: 35 https://gcc.gnu.org/onlinedocs/gcc/Code-Gen-Options.html
// frames: both_body = both, main, _start
// frames: twice = twice, both, main, _start
// frames: add = add, both, main, _start

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
    endbr64
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov edi, 4
    call qword ptr [rip + .Lboth]
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// both(n) = add(twice(n), n)
.type both, @function
both:
    .cfi_startproc
    endbr64
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
both_body:
    mov ebx, edi
    call qword ptr [rip + .Ltwice]
    mov edi, eax
    mov esi, ebx
    call qword ptr [rip + .Ladd]
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
    ret
    .cfi_endproc
.size both, . - both

.type twice, @function
twice:
    .cfi_startproc
    endbr64
    lea eax, [rdi + rdi]
    ret
    .cfi_endproc
.size twice, . - twice

// add(a, b) = a + b + 10
.type add, @function
add:
    .cfi_startproc
    endbr64
    lea eax, [rdi + rsi + 0xa]
    ret
    .cfi_endproc
.size add, . - add

.p2align 3
.Lboth:
    .quad both
.Ltwice:
    .quad twice
.Ladd:
    .quad add
