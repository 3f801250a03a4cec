// summary: rules that are DWARF expressions: a CFA, a place counted from the CFA, a value
// exit: 18
// trap: 27 libunwind/libunwind#93
// trap: 31 llvm/llvm-project#161927, llvm/llvm-project#64449
// traits: INEXPRESSIBLE
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

// work(x) = helper(x) + 2, with a CFA and registers that only expressions describe
.type work, @function
work:
    .cfi_startproc
    push r12
    .cfi_def_cfa_offset 0x10
    .cfi_offset r12, -0x10
    // r12 is stored at CFA - 16: the CFA is the first value on the expression's stack
    .cfi_escape 0x10, 0xc, 2, 0x40, 0x1c
    // the CFA is rsp + 16
    .cfi_escape 0x0f, 2, 0x77, 0x10
    mov r12d, 2
    add rbx, 0x10
    // the caller's rbx is rbx - 16
    .cfi_escape 0x16, 3, 2, 0x73, 0x70
work_body:
    call helper
    add eax, r12d
    sub rbx, 0x10
    .cfi_restore rbx
    pop r12
    .cfi_restore r12
    .cfi_def_cfa rsp, 8
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
