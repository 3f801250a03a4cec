// summary: compiled code that leaves by the SP which its entry stub kept, from two calls below
// exit: 5
// recipes: clang-asm*
// frames: body2_body = body2, body, enter, main, _start
// frames: leaf = leaf, body2, body, enter, main, _start
// frames: main_again = main, _start

// Just-in-time compilers leave so, where an error ends the compiled code: one exit returns for the entry stub.
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
    bl enter
main_again:
    ldp x29, x30, [sp], #0x10
    ret
end main

function enter
    stp x29, x30, [sp, #-0x20]!
    mov x29, sp
    mov x28, sp
    bl body
.if PLAIN
    ldp x29, x30, [sp], #0x20
    ret
.else
    brk #0
.endif
end enter

function body
    stp x29, x30, [sp, #-0x30]!
    mov x29, sp
    bl body2
.if PLAIN
    ldp x29, x30, [sp], #0x30
    ret
.else
    brk #0
.endif
end body

function body2
    stp x29, x30, [sp, #-0x30]!
body2_body:
    bl leaf
.if PLAIN
    ldp x29, x30, [sp], #0x30
.else
    mov sp, x28
    ldp x29, x30, [sp], #0x20
.endif
    ret
end body2

function leaf
    mov x0, #5
    ret
end leaf
