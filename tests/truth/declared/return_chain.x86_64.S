// summary: functions run one after the other by return addresses that were pushed ahead
// exit: 3
// recipes: clang-asm*
// frames: f1 = f1, f2, main, _start
// frames: after = f2, main, _start
// frames: leaf = leaf, f2, main, _start
// frames: back = main, _start

// Return-oriented programs do so, and obfuscators that flatten calls.
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
    call f2
.else
    lea rax, [rip + back]
    push rax
    lea rax, [rip + after]
    push rax
    lea rax, [rip + f1]
    push rax
    ret
    nop
.endif
back:
    pop rbx
    ret
end main

function f1
    nop
    ret
end f1

function f2
.if PLAIN
    call f1
.else
    nop
.endif
after:
    call leaf
    ret
end f2

function leaf
    mov eax, 3
    ret
end leaf
