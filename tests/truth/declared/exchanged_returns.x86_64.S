// summary: two routines on one stack that exchange their return addresses to go on with each other
// exit: 3
// recipes: clang-asm*
// frames: co = co, main, _start
// frames: co_again = co, main, _start
// frames: leaf_in_co = leaf_in_co, co, main, _start
// frames: main_again = main, _start

// The coroutine linkage of the PDP-11 (`jsr pc, @(sp)+`), written out.
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
.if PLAIN
    push 0
    call co
.else
    lea rax, [rip + co]
    push rax
    call exchange
    call leaf
    call exchange
.endif
main_again:
    call leaf
    add rsp, 8
    pop rbx
    ret
end main

function co
.if PLAIN
    nop
.else
    call exchange
.endif
co_again:
    call leaf_in_co
.if PLAIN
    ret
.else
    call exchange
    ud2
.endif
end co

function leaf
    mov eax, 3
    ret
end leaf

function exchange
    mov rax, qword ptr [rsp + 8]
    mov rcx, qword ptr [rsp]
    mov qword ptr [rsp + 8], rcx
    mov qword ptr [rsp], rax
    ret
end exchange

function leaf_in_co
    mov eax, 4
    ret
end leaf_in_co
