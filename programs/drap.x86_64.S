// summary: a realigned frame with a dynamic pointer to its arguments: the CFA is read from memory
// exit: 17
// trap: 12 mstange/framehop#48, mstange/framehop#49
// trap: 31 llvm/llvm-project#161927
// traits: REALIGNED
// frames: work_body = work, main, _start
// frames: helper = helper, work, main, _start
// frames: work_left = work, main, _start

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

// work(x) = helper(x) + 1 as GCC realigns where the arguments' place must be known: r10 is the CFA, and is kept
.type work, @function
work:
    .cfi_startproc
    lea r10, [rsp + 8]
    .cfi_def_cfa r10, 0
    and rsp, -0x20
    push qword ptr [r10 - 8]
    push rbp
    mov rbp, rsp
    // rbp is stored where rbp points
    .cfi_escape 0x10, 6, 2, 0x76, 0
    push r10
    // the CFA is the word at rbp - 8
    .cfi_escape 0x0f, 3, 0x76, 0x78, 6
    sub rsp, 0x28
work_body:
    call helper
    add eax, 1
    mov r10, qword ptr [rbp - 8]
    .cfi_def_cfa r10, 0
    leave
    .cfi_restore rbp
work_left:
    lea rsp, [r10 - 8]
    .cfi_def_cfa rsp, 8
    ret
work_end:
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
