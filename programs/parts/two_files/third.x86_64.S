.intel_syntax noprefix
.globl third
.type third, @function
third:
    .cfi_startproc
    lea eax, [rdi - 6]
    ret
    .cfi_endproc
.size third, . - third
