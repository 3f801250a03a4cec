// summary: a function in two parts: the cold one has a symbol and a table entry that begins in mid-function
// exit: 16
// trap: 22 llvm/llvm-project#125299, ARM-software/abi-aa#327
// traits: SPLIT_FUNCTION
// frames: work = work, main, _start
// frames: work_cold = work_cold, main, _start
// frames: helper = helper, work_cold, main, _start
// frames: work_back = work, main, _start

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

// work(x) = x < 5 ? x : helper(x), the second half in another place
.type work, @function
work:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    cmp edi, 5
    jae work_cold
    mov eax, edi
work_back:
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
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

// Only code that is seldom run lies here; nobody calls it.
.type work_cold, @function
work_cold:
    .cfi_startproc
    .cfi_def_cfa rbp, 0x10
    .cfi_offset rbp, -0x10
    call helper
    jmp work_back
    .cfi_endproc
.size work_cold, . - work_cold
