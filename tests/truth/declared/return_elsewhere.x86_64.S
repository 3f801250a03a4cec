// summary: a return address in another function, handed over before a jump
// exit: 3
// recipes: clang-asm*
// frames: leaf_in_f = leaf_in_f, f, goes_on, main, _start
// frames: leaf = leaf, goes_on, main, _start

// Kernels enter a handler so, with the way out as its return address.
.intel_syntax noprefix
.set PLAIN, 0

.macro function name
.type \name, @function
\name:
.endm
.macro end name
.size \name, . - \name
.endm

.globl _start
function _start
    xor ebp, ebp
    call main
    mov edi, eax
    mov eax, 0x3c
    syscall
end _start

function main
    push rbx
    call g
    inc eax
    pop rbx
    ret
end main

function g
    push rbx
.if PLAIN
    jmp goes_on
.else
    lea rax, [rip + after]
    push rax
    jmp f
.endif
end g

function goes_on
.if PLAIN
    call f
.else
    nop
.endif
after:
    call leaf
    pop rbx
    ret
end goes_on

function f
    call leaf_in_f
    ret
end f

function leaf_in_f
    mov eax, 1
    ret
end leaf_in_f

function leaf
    inc eax
    ret
end leaf
