// summary: a call made by hand: the return address is a label farther on than the jump's end
// exit: 6
// recipes: clang-asm*
// frames: f = f, main, _start
// frames: leaf = leaf, f, main, _start
// frames: back = main, _start

// Obfuscators do so, and hand-written code whose way back skips what the jump did not need.
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
    call f
.else
    lea rax, [rip + back]
    push rax
    jmp f
.endif
    nop
    nop
back:
    pop rbx
    ret
end main

function f
    call leaf
    ret
end f

function leaf
    mov eax, 6
    ret
end leaf
