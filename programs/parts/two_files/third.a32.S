.syntax unified
.arm
.cfi_sections .debug_frame
.globl third
.type third, %function
third:
    .fnstart
    .cfi_startproc
    subs r0, r0, #6
    bx lr
    .cfi_endproc
    .fnend
.size third, . - third
