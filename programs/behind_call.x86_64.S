// summary: data behind a call: the callee takes it and returns behind it
// exit: 37
// trap: 37 https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S
// frames: work_body = work, main, _start
// frames: take = take, work, main, _start
// frames: take_return = take, work, main, _start
// frames: after = work, main, _start
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

// work(x) = take() + helper(x)
.type work, @function
work:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbx, -0x10
work_body:
    call take
    .quad 0x15
after:
    mov ebx, eax
    call helper
    add eax, ebx
    pop rbx
    .cfi_def_cfa_offset 8
    .cfi_restore rbx
    ret
    .cfi_endproc
.size work, . - work

// take() is the word behind the call
.type take, @function
take:
    .cfi_startproc
    mov rdx, qword ptr [rsp]
    mov eax, dword ptr [rdx]
    add rdx, 8
    mov qword ptr [rsp], rdx
take_return:
    ret
    .cfi_endproc
.size take, . - take

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
