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


# Functions that move their return address, and functions that make room for their caller.


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


# A callee that never returns, while its caller is entered again.


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


UP = "fn main\npush rbx\ncall mark\nback: test eax, eax\njnz landed\nsub rsp, 48\ncall f\nud2\nlanded: "
UP += "mov eax, 42\npop rbx\nret\nfn f\npop rcx\nadd rsp, 16\npush rcx\njmp part\nfn part\nin_f: sub rsp, 8\n"
UP += "call h\nud2\nfn h\nnop\nin_h: call far\nud2\nfn mark\nlea rax, [rip + buffer]\nmov [rax], rbx\n"
UP += "lea rcx, [rsp + 8]\nmov [rax + 8], rcx\n"
UP += "mov rcx, [rsp]\nmov [rax + 16], rcx\nxor eax, eax\nret\nfn far\nlea rdx, [rip + buffer]\n"
UP += "mov rbx, [rdx]\nmov rsp, [rdx + 8]\nmov eax, 1\njmp [rdx + 16]\n.bss\nbuffer: .skip 64\n"


@pytest.mark.parametrize("before", ["", "nop\n"])
@pytest.mark.parametrize("jump", ["jmp part\nfn part\n", ""])
def test_a_function_that_moved_up_and_is_left_by_longjmp_was_called(before: str, jump: str) -> None:
    """Its return address went along: it lies where SP is now, or in the part of the stack that was its caller's."""
    body = UP.replace("pop rcx", before + "pop rcx").replace("jmp part\nfn part\n", jump)
    own = "part" if jump else "f"
    watch("x86_64", body, f"in_f = {own}, main, _start", f"in_h = h, {own}, main, _start", "landed = main, _start")


def test_a_return_address_that_took_the_place_of_arguments_goes_on_as_one() -> None:
    body = "fn main\npush rbx\npush 7\npush 8\ncall f\nback: mov eax, 42\npop rbx\nret\nfn f\npop rcx\n"
    body += "mov [rsp + 8], rcx\nlea rdx, [rip + g]\nmov [rsp], rdx\nin_f: ret\nfn g\nnop\nin_g: ret\n"
    watch("x86_64", body, "in_f = f, main, _start", "in_g = g, main, _start", "back = main, _start")
