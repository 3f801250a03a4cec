// summary: assembly in AT&T syntax: the standard prologue and epilogue, and a leaf in the red zone
// exit: 42
// syntax: att
// frames: leaf = leaf, main, _start
// frames: stored = leaf, main, _start
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined %rip
    xorl %ebp, %ebp
    call main
    movl %eax, %edi
    movl $60, %eax
    syscall
    .cfi_endproc
.size _start, . - _start

.type main, @function
main:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movl $19, %edi
    call leaf
    addl $4, %eax
    popq %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
.size main, . - main

.type leaf, @function
leaf:
    .cfi_startproc
    movl %edi, -8(%rsp)
stored:
    leal (%rdi,%rdi), %eax
    subl $19, %eax
    addl -8(%rsp), %eax
    ret
    .cfi_endproc
.size leaf, . - leaf
