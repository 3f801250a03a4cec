// summary: a task whose piece of the stack is copied out, and copied back at another depth
// exit: 5
// recipes: clang-asm*
// frames: main_again = main, _start
// frames: task_again = task, start, main, _start
// frames: leaf_in_task = leaf_in_task, task, start, main, _start

// Python's greenlets do so; Java's virtual threads freeze and thaw their frames in the same way.
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
    call start
main_again:
    call resume
    ret
end main

function start
    push rbx
    mov qword ptr [rip + base], rsp
    call task
    pop rbx
    ret
end start

function yield
.if !PLAIN
    mov rsi, rsp
    lea rdi, [rip + kept]
    mov ecx, 24
    rep movsb
    mov rsp, qword ptr [rip + base]
    pop rbx
.endif
    ret
end yield

function resume
.if !PLAIN
    push rbx
    sub rsp, 24
    mov rdi, rsp
    lea rsi, [rip + kept]
    mov ecx, 24
    rep movsb
.endif
    ret
end resume

function task
    push r12
    call yield
task_again:
    call leaf_in_task
    pop r12
    ret
end task

function leaf_in_task
    mov eax, 5
    ret
end leaf_in_task

.bss
base:
    .space 8
kept:
    .space 24
