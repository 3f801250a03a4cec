"""What tells a call from a jump: it was taken, it came back once."""

from __future__ import annotations

import pytest

from tests.truth.calls import BL_AS_JUMP
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import steps_at, watch


@pytest.mark.parametrize("isa", BL_AS_JUMP)
def test_bl_used_as_a_jump_opens_nothing(isa: str) -> None:
    truth = watch(
        isa,
        BL_AS_JUMP[isa],
        "far = main, _start",
        "again = main, _start",
        "leaf = leaf, main, _start",
        "last = main, _start",
        "last_return = main, _start",
    )
    assert agree_in_pieces(truth, 4).readings, "what shows that it was none lies in another piece"


def test_mov_lr_pc_is_a_call_and_a_jump_table_through_lr_is_not() -> None:
    body = """
fn main
    push {r4, lr}
    mov r4, #0
    adr r1, leaf
    mov lr, pc
    bx r1
back:
dispatch:
    adr lr, table
    ldr pc, [lr, r4, lsl #2]
table:
    .word zero, one, two
zero:
    add r4, r4, #1
    b dispatch
one:
    add r4, r4, #1
    adr r1, leaf
    mov lr, pc
    bx r1
    b dispatch
two:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
"""
    watch(
        "a32",
        body,
        "leaf = leaf, main, _start",
        "back = main, _start",
        "zero = main, _start",
        "one = main, _start",
        "two = main, _start",
    )


def test_a_predicated_call_that_is_not_taken_is_none_a32() -> None:
    body = """
fn main
    push {r4, lr}
    mov r4, #0
    cmp r4, #0
    blne leaf
not_taken:
    cmp r4, #0
    bleq leaf
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
"""
    truth = watch("a32", body, "not_taken = main, _start", "leaf = leaf, main, _start")
    assert len(steps_at(truth, "leaf")) == 1


def test_a_predicated_call_that_is_not_taken_is_none_thumb() -> None:
    body = """
fn main
    push {r4, lr}
    movs r4, #0
    cmp r4, #0
    it ne
    blne leaf
not_taken:
    cmp r4, #0
    it eq
    bleq leaf
    pop {r4, pc}
fn leaf
    movs r0, #42
    bx lr
"""
    truth = watch("thumb", body, "not_taken = main, _start", "leaf = leaf, main, _start")
    assert len(steps_at(truth, "leaf")) == 1


SKIPS = {
    "x86_64": """
fn main
    push rbx
    mov ebx, TURNS
    call parent
back:
    dec ebx
    jz out
    call parent
out:
    pop rbx
    ret
fn parent
    push rbp
    call callee
after:
    pop rbp
    ret
    ud2
fn callee
    sub rsp, 8
    mov eax, 42
    cmp ebx, 2
    je ordinary
skip:
    add rsp, 16
    pop rbp
    ret
ordinary:
    add rsp, 8
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #TURNS
    bl parent
back:
    subs x19, x19, #1
    b.eq out
    bl parent
out:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn parent
    stp x29, x30, [sp, #-16]!
    bl callee
after:
    ldp x29, x30, [sp], #16
    ret
    udf #0
fn callee
    sub sp, sp, #16
    mov x0, #42
    cmp x19, #2
    b.eq ordinary
skip:
    add sp, sp, #16
    ldp x29, x30, [sp], #16
    ret
ordinary:
    add sp, sp, #16
    ret
""",
}


@pytest.mark.parametrize("isa", SKIPS)
def test_a_call_that_came_back_once_is_a_call_even_where_the_callee_returns_for_its_caller(isa: str) -> None:
    truth = watch(
        isa,
        SKIPS[isa].replace("TURNS", "2"),
        "callee = callee, parent, main, _start",
        "after = parent, main, _start",
        "skip = callee, parent, main, _start",
        "back = main, _start",
    )
    assert len(steps_at(truth, "callee")) == 2


def test_where_calls_push_a_call_is_a_call_even_if_it_never_comes_back() -> None:
    """The word on the stack would spoil the parent's return, so somebody took it off on purpose."""
    body = SKIPS["x86_64"].replace("TURNS", "1")
    watch("x86_64", body, "skip = callee, parent, main, _start", "back = main, _start")
