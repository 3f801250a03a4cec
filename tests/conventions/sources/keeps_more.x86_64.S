    .text
    .intel_syntax noprefix

    .globl keeps
    .type keeps, @function
keeps:
    .cfi_startproc
    push r10
    .cfi_adjust_cfa_offset 8
    .cfi_offset r10, -16
    mov r10d, 1
    pop r10
    .cfi_adjust_cfa_offset -8
    .cfi_restore r10
    ret
    .cfi_endproc
    .size keeps, . - keeps

    .globl loses
    .type loses, @function
loses:
    .cfi_startproc
    mov r10d, 1
    nop
    ret
    .cfi_endproc
    .size loses, . - loses
    .section .note.GNU-stack, "", @progbits
