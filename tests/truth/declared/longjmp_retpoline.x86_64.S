// summary: a longjmp that jumps through an inline retpoline
// exit: 3
// recipes: clang-asm*
// frames: received = receive, main, _start
// frames: leaf = leaf, receive, main, _start

// Any longjmp that was built with -mindirect-branch=thunk-inline.
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
    call receive
    ret
end main

function receive
    push rbx
    mov qword ptr [rip + kept], rsp
    call deep
    ud2
received:
    call leaf
    pop rbx
    ret
end receive

function deep
    sub rsp, 8
    mov rsp, qword ptr [rip + kept]
    lea rax, [rip + received]
.if PLAIN
    jmp rax
.else
    call 1f
0:
    jmp 0b
1:
    mov qword ptr [rsp], rax
    ret
.endif
end deep

function leaf
    mov eax, 3
    ret
end leaf

.bss
kept:
    .space 8
