// summary: a stack switch that goes to the instruction behind itself: the first function of a coroutine
// exit: 5
// recipes: clang-asm*
// frames: c1_body#1 = c1, co
// frames: m2_again = m2, main, _start
// frames: c1_again = c1, co
// frames: leaf = leaf, c1, co
// frames: c1_body#2 = c1, co
// frames: m3_again = m3, main, _start

// Linux's `__switch_to` on A32 loads SP and pc so. A coroutine that stands behind the switch in the file is enough.
// r0 leads nowhere by then.
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
    ldr r0, =co_context
    ldr r1, =co
    str r1, [r0, #36]
    ldr r1, =stack
    str r1, [r0, #32]
    bl m2
    bl m3
    mov r0, #5
    pop {r4, pc}
end main

function m2
    push {r4, r5, r6, lr}
    ldr r0, =main_context
    ldr r1, =co_context
    bl switch
m2_again:
    pop {r4, r5, r6, pc}
end m2

function m3
    push {r4, lr}
    ldr r0, =main_context
    ldr r1, =co_context
    bl switch
m3_again:
    pop {r4, pc}
end m3

function switch
    stmia r0!, {r4-r11}
    str sp, [r0], #4
    str lr, [r0]
    mvn r0, #0
    ldmia r1, {r4-r11, sp, pc}
.if PLAIN
    nop
.endif
end switch

function co
    bl c1
    bl c1
    udf #0
end co

function c1
    push {r4, lr}
c1_body:
    ldr r0, =co_context
    ldr r1, =main_context
    bl switch
c1_again:
    bl leaf
    pop {r4, pc}
end c1

function leaf
    mov r0, #5
    bx lr
end leaf

.ltorg
.bss
.balign 8
main_context:
    .space 40
co_context:
    .space 40
    .space 512
stack:
    .space 16
