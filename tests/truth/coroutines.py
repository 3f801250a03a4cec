"""A coroutine on a stack of its own, on each instruction set."""

from __future__ import annotations

COROUTINE = {
    "x86_64": """
fn main
    push rbx
    push rbp
    sub rsp, 24
    lea rbx, [rip + their_end - 24]
    lea rax, [rip + co]
    mov [rbx + 16], rax
    mov [rsp + 8], rbx
    mov rdi, rsp
    lea rsi, [rsp + 8]
    mov rbx, rsp
    call switch
back_1:
    mov rdi, rbx
    lea rsi, [rbx + 8]
    call switch
back_2:
    call leaf
    add rsp, 24
    pop rbp
    pop rbx
    ret
fn switch
    push rbx
    push rbp
    mov [rdi], rsp
    mov rsp, [rsi]
switched:
    pop rbp
    pop rbx
    ret
fn co
    mov rbx, rdi
    mov ecx, 3
spin:
    dec ecx
    jnz spin
    call work
    ud2
fn work
    sub rsp, 8
work_body:
    lea rdi, [rbx + 8]
    mov rsi, rbx
    call switch
resumed:
    call leaf
    lea rdi, [rbx + 8]
    mov rsi, rbx
    call switch
    ud2
fn leaf
    mov eax, 42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    str x19, [sp, #16]
    adrp x9, their_end
    add x9, x9, :lo12:their_end
    sub x9, x9, #32
    adr x10, co
    str x10, [x9, #8]
    add x19, sp, #32
    str x9, [x19, #8]
    mov x0, x19
    add x1, x19, #8
    bl switch
back_1:
    mov x0, x19
    add x1, x19, #8
    bl switch
back_2:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
fn switch
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x9, sp
    str x9, [x0]
    ldr x9, [x1]
    mov sp, x9
switched:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
    udf #0
fn co
    mov x19, x0
    mov x2, #3
spin:
    subs x2, x2, #1
    b.ne spin
    bl work
    udf #0
fn work
    stp x29, x30, [sp, #-16]!
work_body:
    add x0, x19, #8
    mov x1, x19
    bl switch
resumed:
    bl leaf
    add x0, x19, #8
    mov x1, x19
    bl switch
    udf #0
fn leaf
    mov x0, #42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
""",
}
