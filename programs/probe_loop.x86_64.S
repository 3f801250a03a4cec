// summary: a 64 KiB frame whose prologue touches every page in a loop, with the CFA in a scratch register
// exit: 17
// trap: 23 llvm/llvm-project#66524, llvm/llvm-project#68984, openssl/openssl#8853
// traits: INEXPRESSIBLE
// frames: work_probe = work, main, _start
// frames: work_probe#8 = work, main, _start
// frames: work_body = work, main, _start
// frames: helper = helper, work, main, _start

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

// work(x) = helper(x) + 1 in a frame of 64 KiB, whose pages are touched one after another
.type work, @function
work:
    .cfi_startproc
    lea r11, [rsp - 0x10000]
    .cfi_def_cfa r11, 0x10008
work_probe:
    sub rsp, 0x1000
    mov qword ptr [rsp], 0
    cmp rsp, r11
    jne work_probe
    .cfi_def_cfa_register rsp
work_body:
    call helper
    add eax, 1
    add rsp, 0x10000
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.size work, . - work

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
