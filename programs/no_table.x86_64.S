// summary: hand-written code without tables: a function with a frame record, and one that only moves SP
// exit: 26
// trap: 9 openssl/openssl#8853, openssl/openssl#8109, openssl/openssl#10635, awslabs/s2n-bignum#197
// trap: 18 libunwind/libunwind#659, libunwind/libunwind#638, async-profiler/async-profiler#1408
// trap: 32 libunwind/libunwind#965
// untabled: framed..tabled
// frames: framed_body = framed, main, _start
// frames: bare_body = bare, framed, main, _start
// frames: tabled = tabled, bare, framed, main, _start
// frames: bare_return = bare, framed, main, _start

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
    call framed
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// framed(x) = bare(x) + 1; no table describes it
.type framed, @function
framed:
    push rbp
    mov rbp, rsp
framed_body:
    call bare
    add eax, 1
    pop rbp
    ret
.size framed, . - framed

// bare(x) = tabled(x) + x; no table, and no frame record
.type bare, @function
bare:
    push rbx
    mov ebx, edi
bare_body:
    call tabled
    add eax, ebx
    pop rbx
bare_return:
    ret
.size bare, . - bare

// tabled(x) = x + 7
.type tabled, @function
tabled:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size tabled, . - tabled
