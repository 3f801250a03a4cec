"""Functions that move their return address, and functions that make room for their caller."""

from __future__ import annotations

import pytest

from tests.truth.watched import steps_at, watch

# main makes room and hands down its upper end; there f puts its return address, goes up with SP, jumps about, calls
# leaf, and returns with another SP than it was entered with. That happens twice, from one call.
MOVED = {
    "x86_64": """
fn main
    push rbx
    mov ebx, 2
again:
    sub rsp, 0x20
    lea rdi, [rsp + 0x18]
    call f
back:
    nop
    dec ebx
    jnz again
    pop rbx
    ret
fn f
    mov rax, [rsp]
    mov [rdi], rax
    mov rsp, rdi
moved:
    jmp landed
    ud2
landed:
    mov ecx, 2
loop:
    dec ecx
    jnz loop
    call leaf
ready:
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, #2
again:
    sub sp, sp, #0x20
    add x0, sp, #0x10
    bl f
back:
    nop
    subs x19, x19, #1
    b.ne again
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn f
    str x30, [x0]
    mov sp, x0
moved:
    b landed
    udf #0
landed:
    mov x1, #2
loop:
    subs x1, x1, #1
    b.ne loop
    bl leaf
    ldr x30, [sp], #16
ready:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    mov r4, #2
again:
    sub sp, sp, #0x10
    add r0, sp, #8
    bl f
back:
    nop
    subs r4, r4, #1
    bne again
    pop {r4, pc}
fn f
    str lr, [r0]
    mov sp, r0
moved:
    b landed
    udf #0
landed:
    mov r1, #2
loop:
    subs r1, r1, #1
    bne loop
    bl leaf
ready:
    pop {r1, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}
MOVED["a32"] = MOVED["a32"].replace("str lr, [r0]", "str lr, [r0, #4]")
MOVED["thumb"] = MOVED["a32"]


@pytest.mark.parametrize("isa", MOVED)
def test_a_function_that_moved_its_return_address_returns_by_it(isa: str) -> None:
    truth = watch(
        isa,
        MOVED[isa],
        "f = f, main, _start",
        "moved = f, main, _start",
        "landed = f, main, _start",
        "loop = f, main, _start",
        "leaf = leaf, f, main, _start",
        "ready = f, main, _start",
        "back = main, _start",
    )
    assert len(truth.activations) == 2 + 2 * 2
    assert not truth.transition.any(), "it is no jump out of it"
    assert {a.goes_on for a in truth.activations} == {None}
    inside, before = steps_at(truth, "landed")[0], steps_at(truth, "f")[0]
    assert truth.stack(inside).frames[0].cfa == truth.stack(before).frames[0].cfa, "the CFA is SP before the call"


# The callee makes room on its caller's stack: it returns with SP far below the CFA, and the caller goes on so.
ROOM = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    call room
back:
    call leaf
    leave
    ret
fn room
    pop rcx
    sub rsp, 64
ready:
    jmp rcx
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl room
back:
    bl leaf
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
fn room
    sub sp, sp, #64
ready:
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    bl room
back:
    bl leaf
    mov sp, r11
    pop {r11, pc}
fn room
    sub sp, sp, #64
ready:
    bx lr
fn leaf
    mov r0, #42
    bx lr
""",
}
ROOM["thumb"] = ROOM["a32"].replace("r11", "r7")


@pytest.mark.parametrize("isa", ROOM)
def test_a_function_that_makes_room_for_its_caller_returns_with_a_lower_sp(isa: str) -> None:
    truth = watch(isa, ROOM[isa], "ready = room, main, _start", "back = main, _start", "leaf = leaf, main, _start")
    assert not truth.transition.any()


def test_a_moved_return_address_may_be_taken_with_arguments() -> None:
    body = MOVED["x86_64"].replace("[rsp + 0x18]", "[rsp + 0x10]").replace("ready:\n    ret", "ready:\n    ret 8")
    truth = watch("x86_64", body, "landed = f, main, _start", "ready = f, main, _start", "back = main, _start")
    assert len(truth.activations) == 2 + 2 * 2
