"""Calls that take two instructions, and calls through a veneer."""

from __future__ import annotations

import pytest

from tests.truth.watched import watch

# A call in two instructions: the return address is made first, then comes a jump.
TWO_STEPS = {
    "x86_64": """
fn main
    push rbx
    lea rax, [rip + back]
    push rax
made:
    jmp callee
back:
    pop rbx
    ret
fn callee
    sub rsp, 8
    call leaf
callee_body:
    add rsp, 8
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    adr x30, back
made:
    b callee
back:
    ldp x29, x30, [sp], #16
    ret
fn callee
    stp x29, x30, [sp, #-16]!
    bl leaf
callee_body:
    ldp x29, x30, [sp], #16
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    adr lr, back
made:
    b callee
back:
    pop {r4, pc}
fn callee
    push {r4, lr}
    bl leaf
callee_body:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
    "thumb": """
fn main
    push {r4, lr}
    adr.w lr, back
    orr lr, lr, #1
made:
    b.w callee
    .p2align 2
back:
    pop {r4, pc}
fn callee
    push {r4, lr}
    bl leaf
callee_body:
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}


@pytest.mark.parametrize("isa", TWO_STEPS)
def test_a_call_may_take_two_instructions(isa: str) -> None:
    truth = watch(
        isa,
        TWO_STEPS[isa],
        "made = main, _start",
        "callee = callee, main, _start",
        "callee_body = callee, main, _start",
        "leaf = leaf, callee, main, _start",
        "back = main, _start",
    )
    assert len(truth.activations) == 4
    assert not truth.transition.any()


def test_a_pointer_to_the_next_function_on_the_stack_makes_no_call_of_a_return_or_a_jump() -> None:
    """`relay` is pushed, lies at SP, and stands right behind the return of `leaf`, and behind a jump in `turns`."""
    body = """
fn main
    push rbx
    lea rax, [rip + relay]
    push rax
    call leaf
back:
    pop rbx
    call turns
    pop rbx
    ret
fn leaf
    ret
fn relay
    nop
    ret
fn turns
    lea rax, [rip + behind]
    push rax
    mov eax, 42
    mov ecx, 3
    jmp check
again:
    dec ecx
check:
    test ecx, ecx
    jz out
    jmp again
fn behind
    nop
    ret
fn out
    pop rcx
    ret
"""
    watch(
        "x86_64",
        body,
        "leaf = leaf, main, _start",
        "back = main, _start",
        "again = turns, main, _start",
        "check = turns, main, _start",
        "out = out, main, _start",
    )


@pytest.mark.parametrize("call", ["bl veneer", "adr r1, veneer\n    mov lr, pc\n    bx r1", "mov lr, pc\n    b veneer"])
def test_a_call_through_a_veneer_is_one_call(call: str) -> None:
    body = f"""
fn main
    push {{r4, lr}}
    {call}
back:
    pop {{r4, pc}}
fn veneer
    ldr r12, [pc]
    bx r12
    .word leaf
fn leaf
    mov r0, #42
    bx lr
"""
    watch("a32", body, "veneer = veneer, main, _start", "leaf = leaf, main, _start", "back = main, _start")


def test_a_pointer_to_a_function_on_top_of_a_frame_that_a_tail_call_uses_is_no_promise() -> None:
    """glibc's gconv keeps the function of the next step there."""
    body = "fn main\nsub rsp, 8\ncall f\nback: add rsp, 8\nret\nfn f\nsub rsp, 24\nlea rcx, [rip + g]\nmov [rsp], rcx\n"
    body += "jmp inside\nnop\ninside: call leaf\nin_f: add rsp, 24\njmp rcx\nfn leaf\nin_leaf: ret\n"
    body += "fn g\nnop\nin_g: mov eax, 42\nret\n"
    stacks = (
        "inside = f, main, _start",
        "in_leaf = leaf, f, main, _start",
        "in_f = f, main, _start",
        "in_g = g, main, _start",
    )
    truth = watch("x86_64", body, *stacks, "back = main, _start")
    assert not truth.undecided.any()
