// summary: a return address in another function, handed over before a jump
// exit: 6
// recipes: clang-asm*
// frames: sys_body = sys, ret_fast, main, _start
// frames: leaf = leaf, ret_fast, main, _start

// Linux calls every system call of A32 so: `adr lr, ret_fast_syscall`, then a load of pc from the table.
.syntax unified
.arm
.set PLAIN, 0

.macro function name
.p2align 2
.type \name, %function
\name:
.endm
.macro end name
.size \name, . - \name
.endm

.globl _start
function _start
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
end _start

function main
    push {r4, lr}
    bl entry
    add r0, r0, #1
    pop {r4, pc}
end main

function entry
    push {r4-r7, lr}
.if PLAIN
    b ret_fast
.else
    adr lr, after
    b sys
.endif
end entry

function ret_fast
.if PLAIN
    bl sys
.else
    nop
.endif
after:
    bl leaf
    pop {r4-r7, pc}
end ret_fast

function sys
    push {r4, lr}
sys_body:
    nop
    pop {r4, pc}
end sys

function leaf
    mov r0, #5
    bx lr
end leaf
