// summary: a call over a trap whose return address is dropped by moving SP
// exit: 5
// recipes: clang-asm*
// frames: leaf = leaf, f, main, _start

// Linux fills the processor's return predictor so (`__FILL_ONE_RETURN`).
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
    ret
end main

function f
.if !PLAIN
    call 1f
    int3
1:
    add rsp, 8
.endif
    call leaf
    ret
end f

function leaf
    mov eax, 5
    ret
end leaf
