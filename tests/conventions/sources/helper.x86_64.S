    .text
    .intel_syntax noprefix

# Two functions that change rbx and do not say so. The callers of the first one have saved it.
    .globl helper
    .type helper, @function
helper:
    .cfi_startproc
    lea rbx, [rdi + 1]
    mov rax, rbx
    ret
    .cfi_endproc
    .size helper, . - helper

    .globl mistaken
    .type mistaken, @function
mistaken:
    .cfi_startproc
    lea rbx, [rdi + 2]
    mov rax, rbx
    ret
    .cfi_endproc
    .size mistaken, . - mistaken

    .globl caller
    .type caller, @function
caller:
    .cfi_startproc
    push rbx
    .cfi_adjust_cfa_offset 8
    .cfi_offset rbx, -16
    call helper
    pop rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    ret
    .cfi_endproc
    .size caller, . - caller
    .section .note.GNU-stack, "", @progbits
