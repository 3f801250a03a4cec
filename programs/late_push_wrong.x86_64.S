// summary: two pushes in a prologue, and the second one's row an instruction late
// exit: 26
// trap: 7 llvm/llvm-project#202570, llvm/llvm-project#52758
// twin: late_push
// wrong: work_pushed..work_body
// frames: work_pushed = work, main, _start
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

// work(x) = helper(x) + x + 1
.type work, @function
work:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
    push r12
work_pushed:
    mov r12d, edi
    .cfi_def_cfa_offset 0x18
    .cfi_offset r12, -0x18
work_body:
    mov ebx, 1
    call helper
    add eax, ebx
    add eax, r12d
    pop r12
    .cfi_def_cfa_offset 0x10
    .cfi_restore r12
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
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
