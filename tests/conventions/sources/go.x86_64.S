    .text
    .intel_syntax noprefix

    .globl main.sum
    .type main.sum, @function
main.sum:
    .cfi_startproc
    lea r12, [rax + rbx]
    mov rax, r12
    ret
    .cfi_endproc
    .size main.sum, . - main.sum

    .globl main.outer
    .type main.outer, @function
main.outer:
    .cfi_startproc
    push rbp
    .cfi_adjust_cfa_offset 8
    mov rbp, rsp
    mov r15, rax
    call main.sum
    pop rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size main.outer, . - main.outer

    .globl main.mistaken
    .type main.mistaken, @function
main.mistaken:
    .cfi_startproc
    push rbp
    mov rbp, rsp
    mov r15, rax
    pop rbp
    ret
    .cfi_endproc
    .size main.mistaken, . - main.mistaken

    .section .gopclntab, "a", @progbits
    .long 0xfffffff1
    .section .note.GNU-stack, "", @progbits
