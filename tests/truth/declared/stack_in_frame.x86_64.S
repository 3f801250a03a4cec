// summary: a coroutine whose stack is an array among the locals of main
// exit: 6
// recipes: clang-asm*
// frames: c1_body#1 = c1, co
// frames: m2_again = m2, main, _start
// frames: co_again = co
// frames: c1_body#2 = c1, c2, co
// frames: m3_again = m3, main, _start
// frames: c1_body#3 = c1, c2, co
// frames: m3_at_last = m3, main, _start

// Programs that give makecontext, or a coroutine library, a local array do so.
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
    push rbp
    mov rbp, rsp
    sub rsp, 0x400
.if PLAIN
    lea rax, [rip + stack]
.else
    lea rax, [rbp - 0x20]
.endif
    lea rcx, [rip + co]
    mov qword ptr [rax - 8], rcx
    sub rax, 24
    mov qword ptr [rip + other], rax
    call m2
    call m3
    mov eax, 6
    leave
    ret
end main

function m2
    push r12
    call switch
m2_again:
    pop r12
    ret
end m2

function m3
    sub rsp, 40
    call switch
m3_again:
    call switch
m3_at_last:
    add rsp, 40
    ret
end m3

function co
    call c1
co_again:
    call c2
    ud2
end co

function c1
    push rbx
c1_body:
    call switch
    pop rbx
    ret
end c1

function c2
    sub rsp, 24
    call c1
    call c1
    ud2
end c2

function switch
    push rbx
    push rbp
    xchg rsp, qword ptr [rip + other]
    pop rbp
    pop rbx

    ret
end switch

.bss
.balign 16
other:
    .space 8
    .space 4096
stack:
    .space 64
