// summary: directives that count from the ones before them, behind a state that was restored: LLVM's count from another
// exit: 31
// recipes: clang-asm
// wrong: late_room..classify_end
// frames: early = classify, main, _start
// frames: early_return = classify, main, _start
// frames: late = classify, main, _start
// frames: late_room = classify, main, _start
// frames: helper = helper, classify, main, _start
// frames: late_return = classify, main, _start

// DW_CFA_restore_state takes the CFA's offset back. LLVM's assembler adds what .cfi_adjust_cfa_offset says to the offset
// of the last directive before that (MCDwarf.cpp, FrameEmitterImpl); GNU as to the restored one, and its table is right.

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
    push rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    mov edi, 3
    call classify
    mov rbx, rax
    mov edi, 9
    call classify
    add rax, rbx
    pop rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    ret
    .cfi_endproc
.size main, . - main

// classify(x) = x < 5 ? 2 * x : helper(x) + x
.type classify, @function
classify:
    .cfi_startproc
    push rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    mov rbx, rdi
    cmp rbx, 5
    jae late
early:
    .cfi_remember_state
    lea rax, [rbx + rbx]
    pop rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
early_return:
    ret
late:
    .cfi_restore_state
    sub rsp, 0x10
    .cfi_adjust_cfa_offset 0x10
late_room:
    call helper
    add rax, rbx
    add rsp, 0x10
    .cfi_adjust_cfa_offset -0x10
    pop rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
late_return:
    ret
    .cfi_endproc
classify_end:
.size classify, . - classify

// helper(x) = x + 7
.type helper, @function
helper:
    .cfi_startproc
    lea rax, [rdi + 7]
    ret
    .cfi_endproc
.size helper, . - helper
