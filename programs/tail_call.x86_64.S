// summary: tail calls: direct after an epilogue, then through a register; both callers vanish from the stack
// exit: 46
// trap: 21 llvm/llvm-project#52758
// frames: outer_body = outer, main, _start
// frames: helper#1 = helper, outer, main, _start
// frames: inner = inner, main, _start
// frames: target = target, main, _start
// frames: target_body = target, main, _start
// frames: helper#2 = helper, target, main, _start

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
    mov edi, 0xa
    call outer
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// helper(x) = x + 1
.type helper, @function
helper:
    .cfi_startproc
    lea rax, [rdi + 1]
    ret
    .cfi_endproc
.size helper, . - helper

// Callees first: a jump to the very next address would have no effect that can be watched.

// target(x) = 2 * helper(x)
.type target, @function
target:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
target_body:
    call helper
    add rax, rax
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size target, . - target

// inner(x): target(2 * x) as a tail call through a register; it never has a frame
.type inner, @function
inner:
    .cfi_startproc
    add rdi, rdi
    lea rax, [rip + target]
    jmp rax
    .cfi_endproc
.size inner, . - inner

// outer(x): inner(helper(x)) as a tail call, after its frame is gone
.type outer, @function
outer:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
outer_body:
    call helper
    mov rdi, rax
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    jmp inner
    .cfi_endproc
.size outer, . - outer
