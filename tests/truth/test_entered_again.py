"""A callee that never returns, while its caller is entered again."""

from __future__ import annotations

import pytest

from tests.truth.watched import watch

# inner jumps back to the mark the first time, and returns the second time: middle is entered again in between.
AGAIN = {
    "x86_64": """
fn main
    push rbx
    push rbp
    sub rsp, 24
    mov rbx, rsp
    xor ebp, ebp
    call mark
    inc ebp
    call middle
back:
    add rsp, 24
    pop rbp
    pop rbx
    mov eax, 42
    ret
fn mark
    lea rax, [rsp + 8]
    mov [rbx], rax
    mov rax, [rsp]
    mov [rbx + 8], rax
    ret
fn middle
    sub rsp, 8
    call inner
after:
    add rsp, 8
    ret
fn inner
    cmp ebp, 2
    je ordinary
    mov rdx, [rbx + 8]
    mov rsp, [rbx]
    jmp rdx
ordinary:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    stp x19, x20, [sp, #16]
    add x19, sp, #32
    mov x20, #0
    bl mark
    add x20, x20, #1
    bl middle
back:
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #48
    mov x0, #42
    ret
fn mark
    mov x9, sp
    stp x9, x30, [x19]
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    bl inner
after:
    ldp x29, x30, [sp], #16
    ret
fn inner
    cmp x20, #2
    b.eq ordinary
    ldp x9, x10, [x19]
    mov sp, x9
    br x10
ordinary:
    ret
""",
}


@pytest.mark.parametrize("isa", AGAIN)
def test_a_callee_may_never_return_and_its_caller_be_entered_again(isa: str) -> None:
    watch(
        isa,
        AGAIN[isa],
        "inner#1 = inner, middle, main, _start",
        "inner#2 = inner, middle, main, _start",
        "ordinary = inner, middle, main, _start",
        "after = middle, main, _start",
        "back = main, _start",
    )
