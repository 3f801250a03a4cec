"""Snippets with calls and jumps that are easily mistaken for each other."""

from __future__ import annotations

TAIL = {
    "x86_64": """
fn main
    sub rsp, 8
    call first
    add rsp, 8
    ret
fn first
    push rbx
first_body:
    pop rbx
    jmp second
fn second
    sub rsp, 24
second_body:
    mov eax, 42
    add rsp, 24
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl first
    ldp x29, x30, [sp], #16
    ret
fn first
    stp x29, x30, [sp, #-16]!
first_body:
    ldp x29, x30, [sp], #16
    b second
fn second
    sub sp, sp, #32
second_body:
    mov x0, #42
    add sp, sp, #32
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl first
    pop {r4, pc}
fn first
    push {r4, lr}
first_body:
    pop {r4, lr}
    b second
fn second
    sub sp, sp, #32
second_body:
    mov r0, #42
    add sp, sp, #32
    bx lr
""",
}


TAIL["thumb"] = TAIL["a32"].replace("pop {r4, lr}", "pop.w {r4, lr}")


RETPOLINE = """
fn main
    sub rsp, 8
    lea r11, [rip + target]
    call thunk
back:
    lea r11, [rip + target]
    call thunk
    add rsp, 8
    ret
fn thunk
    call set_up
spin:
    pause
    jmp spin
set_up:
    mov [rsp], r11
leave:
    ret
fn target
    push rbx
target_body:
    call leaf
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
"""


BL_AS_JUMP = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl far
    udf #0
far:
    mov x1, #3
again:
    bl leaf
    subs x1, x1, #1
    b.ne again
    bl last
    udf #0
last:
    ldp x29, x30, [sp], #16
last_return:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl far
    udf #0
far:
    mov r1, #3
again:
    bl leaf
    subs r1, r1, #1
    bne again
    bl last
    udf #0
last:
    pop {r4, lr}
last_return:
    bx lr
fn leaf
    mov r0, #42
    bx lr
""",
}


BL_AS_JUMP["thumb"] = BL_AS_JUMP["a32"].replace("pop {r4, lr}", "pop.w {r4, lr}")
