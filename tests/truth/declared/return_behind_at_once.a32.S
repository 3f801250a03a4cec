// summary: a return behind the call by one instruction that adds to the link register
// exit: 12
// recipes: clang-asm*
// frames: take = take, main, _start
// frames: behind = main, _start
// frames: low = low, main, _start
// frames: behind_low = main, _start
// frames: last = last, main, _start

// No register ever holds the address. Runtime helpers that take their arguments from behind the call return so.
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

// the callee in front of its call
function low
.if PLAIN
    bx lr
.else
    add pc, lr, #8
.endif
end low

function main
    push {r4, lr}
    bl take
.if PLAIN
    b behind
.endif
    .word 5
behind:
    mov r4, r0
    bl low
.if PLAIN
    b behind_low
.endif
    .word 6, 7
behind_low:
    bl last
    add r0, r0, r4
    pop {r4, pc}
end main

// a tail call to a function that stands right behind its caller's caller: no return
function last
    mov r0, #7
    b far
end last
.space 0x200

function take
    mov r0, #5
.if PLAIN
    bx lr
.else
    add pc, lr, #4
.endif
end take

function far
    b near
end far
.p2align 2
near:
    bx lr
