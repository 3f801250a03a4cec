// summary: a longjmp through an inline retpoline to code that lies behind it
// exit: 3
// recipes: clang-asm*
// frames: received = receive, main, _start
// frames: leaf = leaf, receive, main, _start

// `longjmp_retpoline` jumps to code in front of it. By its address, this one comes back behind the call that is none.
.intel_syntax noprefix
.set PLAIN, 0

.macro function name
.type \name, @function
\name:
.endm
.macro end name
.size \name, . - \name
.endm

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

function leaf
    mov eax, 3
    ret
end leaf

.bss
kept:
    .space 8
