// summary: a handler that makes the interrupted function call another one
// exit: 6
// recipes: clang-asm*
// signal: at leaf_again handler on_signal restorer give_back
// frames: preempt_body = preempt, leaf, main, _start
// frames: helper = helper, preempt, leaf, main, _start
// frames: leaf_again = leaf, main, _start

// Go preempts a goroutine so: the handler pushes the link register, and makes the interrupted pc the return address.
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
    mov x29, sp
    mov x0, #5
    bl leaf
    ldp x29, x30, [sp], #0x10
    ret
end main

function on_signal
.if !PLAIN
    // the context's SP is at 0x230, its x30 at 0x228, its pc at 0x238
    ldr x9, [sp, #0x230]
    sub x9, x9, #0x10
    str x9, [sp, #0x230]
    ldr x10, [sp, #0x228]
    str x10, [x9]
    ldr x10, [sp, #0x238]
    str x10, [sp, #0x228]
    adr x10, preempt
    str x10, [sp, #0x238]
.endif
    ret
end on_signal

function preempt
    stp x29, x30, [sp, #-0x20]!
    str x0, [sp, #0x10]
preempt_body:
    bl helper
    ldr x0, [sp, #0x10]
.if PLAIN
    ldp x29, x30, [sp], #0x20
    ret
.else
    ldp x29, x27, [sp], #0x20
    ldr x30, [sp], #0x10
    br x27
.endif
end preempt

function helper
    mov x0, #9
    ret
end helper

function leaf
.if PLAIN
    str x30, [sp, #-0x10]!
    bl preempt
    ldr x30, [sp], #0x10
.else
    nop
.endif
leaf_again:
    add x0, x0, #1
    ret
end leaf

function give_back
    mov x8, #0x8b
    svc #0
end give_back
