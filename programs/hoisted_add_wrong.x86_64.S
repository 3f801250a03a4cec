// summary: two ways out share one hoisted "add sp": the rows stayed behind in both of them
// exit: 26
// trap: 7 llvm/llvm-project#220720
// twin: hoisted_add
// wrong: hoisted..large_return, small..small_return
// frames: choose_body = choose, main, _start
// frames: helper = helper, choose, main, _start
// frames: hoisted = choose, main, _start
// frames: large_return = choose, main, _start
// frames: small_return = choose, main, _start

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
    push rbx
    .cfi_offset rbx, -0x18
    push rbx
main_body:
    mov edi, 1
    call choose
    mov ebx, eax
    mov edi, 8
    call choose
    add eax, ebx
    pop rbx
    pop rbx
    .cfi_restore rbx
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// choose(x) = y + (y < 10 ? 2 : 1) with y = helper(x)
.type choose, @function
choose:
    .cfi_startproc
    sub rsp, 8
    .cfi_def_cfa_offset 0x10
choose_body:
    call helper
    cmp eax, 0xa
    lea rsp, [rsp + 8]
hoisted:
    jb small
    add eax, 1
    .cfi_def_cfa_offset 8
large_return:
    ret
small:
    .cfi_def_cfa_offset 0x10
    add eax, 2
    .cfi_def_cfa_offset 8
small_return:
    ret
    .cfi_endproc
.size choose, . - choose

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
