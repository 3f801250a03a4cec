.globl third
.type third, %function
third:
    .cfi_startproc
    sub w0, w0, #6
    ret
    .cfi_endproc
.size third, . - third
