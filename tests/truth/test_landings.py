"""Landings: in pads that stand behind calls, and behind a jump that only looks like a return."""

from __future__ import annotations

import pytest

from tests.truth.jumps import LANDING, SWITCHED
from tests.truth.watched import labels_where, steps_at, watch


@pytest.mark.parametrize("isa", LANDING)
def test_a_landing_pad_is_in_the_function_whose_stack_it_has(isa: str) -> None:
    truth = watch(
        isa,
        LANDING[isa],
        "thrower = thrower, middle, catcher, main, _start",
        "pad = catcher, main, _start",
        "leaf = leaf, catcher, main, _start",
        "main_back = main, _start",
    )
    assert labels_where(truth, truth.transition) == SWITCHED[isa]


# Recursion to a depth that is another one each time. The innermost function throws; its pad stands right behind that
# call, so the throw comes back to it. From there each function's pad resumes in the pad of its caller.
PADS_BEHIND_CALLS = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 1
again:
    mov edi, ebx
    mov r12d, ebx
    call deep
caught:
    inc ebx
    cmp ebx, 4
    jne again
    pop rbx
    mov eax, 42
    ret
fn deep
    sub rsp, 8
    dec edi
    js throw
    call deep
    ud2
throw:
    call thrower
pad:
    call resume
    ud2
fn thrower
    nop
    ret
fn resume
    nop
resuming:
    lea rax, [rip + pad]
    lea rcx, [rip + caught]
    sub r12d, 1
    cmovs rax, rcx
    lea rsp, [rsp + 24]
    jmp rax
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #1
again:
    mov x0, x19
    mov x20, x19
    bl deep
caught:
    add x19, x19, #1
    cmp x19, #4
    b.ne again
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    mov x0, #42
    ret
fn deep
    stp x29, x30, [sp, #-16]!
    subs x0, x0, #1
    b.mi throw
    bl deep
    udf #0
throw:
    bl thrower
pad:
    bl resume
    udf #0
fn thrower
    nop
    ret
fn resume
    stp x29, x30, [sp, #-16]!
resuming:
    adr x9, pad
    adr x10, caught
    subs x20, x20, #1
    csel x9, x10, x9, mi
    add sp, sp, #32
    br x9
""",
}


@pytest.mark.parametrize("isa", PADS_BEHIND_CALLS)
def test_recursion_lands_in_pads_that_stand_behind_calls(isa: str) -> None:
    """Where a pad is, a call of an earlier round would have come back, with the SP of a function of this one."""
    truth = watch(
        isa,
        PADS_BEHIND_CALLS[isa],
        "pad#1 = deep, deep, main, _start",
        "pad#2 = deep, main, _start",
        "pad#3 = deep, deep, deep, main, _start",
        "pad#4 = deep, deep, main, _start",
        "pad#5 = deep, main, _start",
        "pad#6 = deep, deep, deep, deep, main, _start",
        "resuming#7 = resume, deep, deep, deep, main, _start",
        "caught = main, _start",
        "caught#3 = main, _start",
    )
    assert [a.index for a in truth.activations if a.parent is None] == [0]


# f stands a little behind its call and goes on inside itself, by a register; then it lands in main, above its entry SP.
INSIDE_THEN_LANDING = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #16
    bl f
    udf #0
pad:
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn f
    adr x9, inside
    br x9
    udf #0
inside:
    mov sp, x29
    b pad
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    sub sp, sp, #8
    bl f
    udf #0
pad:
    mov r0, #42
    pop {r11, pc}
fn f
    adr r9, inside
    bx r9
    udf #0
inside:
    mov sp, r11
    b pad
""",
}


@pytest.mark.parametrize("isa", INSIDE_THEN_LANDING)
def test_a_jump_to_what_stands_behind_the_call_is_no_return_if_a_landing_follows(isa: str) -> None:
    """The callee did not come back elsewhere: its parent's ordinary return is not what ended it."""
    truth = watch(isa, INSIDE_THEN_LANDING[isa], "f = f, main, _start", "pad = main, _start")
    (inside,) = steps_at(truth, "inside")
    assert truth.node[inside] == truth.node[steps_at(truth, "f")[0]]
