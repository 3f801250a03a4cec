// summary: a return address that a hook replaces by a trampoline, which then goes to the real one
// exit: 7
// recipes: clang-asm*
// frames: leaf_in_tramp = leaf_in_tramp, tramp, main, _start
// frames: main_again = main, _start

// Return probes: Linux's kretprobes and function graph tracer, uretprobes, Frida.
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
    call f
main_again:
    inc eax
    ret
end main

function f
    call hook
    push rbx
    call leaf
    pop rbx
.if PLAIN
    jmp tramp
.else
    ret
.endif
end f

function hook
.if !PLAIN
    mov rax, qword ptr [rsp + 8]
    mov qword ptr [rip + kept], rax
    lea rax, [rip + tramp]
    mov qword ptr [rsp + 8], rax
.endif
    ret
end hook

function tramp
    push rax
    call leaf_in_tramp
    pop rax
.if !PLAIN
    push qword ptr [rip + kept]
.endif
    ret
end tramp

function leaf
    mov eax, 6
    ret
end leaf

function leaf_in_tramp
    nop
    ret
end leaf_in_tramp

.bss
kept:
    .space 8
