// summary: an early return without remembering the state: behind it the rows still describe the frame as gone
// exit: 31
// trap: 8 dotnet/runtime#98738, llvm/llvm-project#68984, llvm/llvm-project#125299
// twin: early_return
// wrong: late..late_return
// trap: 8 dotnet/runtime#98738, dotnet/runtime#99103, swiftlang/llvm-project#1082
// frames: classify = classify, main, _start
// frames: early = classify, main, _start
// frames: early_reuse = classify, main, _start
// frames: early_return = classify, main, _start
// frames: late = classify, main, _start
// frames: helper = helper, classify, main, _start
// frames: late_return = classify, main, _start

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
    sub rsp, 0x10
    mov edi, 3
    call classify
    mov qword ptr [rbp - 8], rax
    mov edi, 9
    call classify
    add rax, qword ptr [rbp - 8]
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size main, . - main

// classify(x) = x < 5 ? 2 * x : helper(x) + x
.type classify, @function
classify:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 0x10
    .cfi_offset rbp, -0x10
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    push rbx
    .cfi_offset rbx, -0x18
    sub rsp, 8
    mov rbx, rdi
    cmp rbx, 5
    jae late
early:
    lea rax, [rbx + rbx]
    mov rbx, qword ptr [rbp - 8]
    .cfi_restore rbx
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    // The frame is gone and its slots are written over: a table that still points at them is wrong from here on.
    mov qword ptr [rsp - 8], rdi
early_reuse:
    mov qword ptr [rsp - 0x10], rdi
early_return:
    ret
late:
    call helper
    add rax, rbx
    add rsp, 8
    pop rbx
    .cfi_restore rbx
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
late_return:
    ret
    .cfi_endproc
.size classify, . - classify

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea rax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
