// summary: code that has no symbol and no table, as a compiler at run time leaves it
// exit: 17
// trap: 9 openssl/openssl#10635
// untabled: work_end..helper
// frames: work_body = work, main, _start

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
    call work
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
work_body:
    call .Lanonymous
    add eax, 1
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
work_end:
    .cfi_endproc
.size work, . - work

    // Code made at run time: no symbol, no table, but a frame record.
.Lanonymous:
    push rbp
    mov rbp, rsp
    call helper
    pop rbp
    ret
// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
