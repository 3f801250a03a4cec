// summary: an exception: two frames are cut off, and the landing pad finds SP elsewhere
// exit: 16
// trap: 36 https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
// traits: LOST_REGISTER
// frames: catcher_body = catcher, main, _start
// frames: thrower_body = thrower, middle, catcher, main, _start
// frames: pad = catcher, main, _start
// frames: helper = helper, catcher, main, _start

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
    call catcher
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// catcher(x): calls middle with arguments on the stack; the landing pad finds SP elsewhere
.type catcher, @function
catcher:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 0x20
    mov qword ptr [rbp - 8], rdi
    push rdi
    push rdi
catcher_body:
    call middle
    ud2
pad:
    mov rdi, qword ptr [rbp - 8]
    call helper
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size catcher, . - catcher

.type middle, @function
middle:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    call thrower
    ud2
    .cfi_endproc
.size middle, . - middle

// cuts the stack down to catcher's frame, two frames out, and enters its landing pad
.type thrower, @function
thrower:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
thrower_body:
    mov rbp, qword ptr [rbp]
    .cfi_def_cfa rsp, 0x10
    .cfi_restore rbp
    mov rbp, qword ptr [rbp]
    .cfi_undefined rbp
cutting:
    lea rsp, [rbp - 0x20]
    jmp pad
    .cfi_endproc
.size thrower, . - thrower

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea eax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
