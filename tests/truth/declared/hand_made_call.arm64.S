// summary: a call made by hand: the return address is a label farther on than the jump's end
// exit: 5
// recipes: clang-asm*
// frames: f = f, main, _start
// frames: leaf = leaf, f, main, _start
// frames: back = main, _start

// Hand-written entry code does so, where one return address serves several jumps.
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
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
end _start

function main
    stp x29, x30, [sp, #-0x10]!
.if PLAIN
    bl f
.else
    adr x30, back
    b f
.endif
    nop
    nop
back:
    ldp x29, x30, [sp], #0x10
    ret
end main

function f
    str x30, [sp, #-0x10]!
    bl leaf
    ldr x30, [sp], #0x10
    ret
end f

function leaf
    mov x0, #5
    ret
end leaf
