"""Non-local transfers: longjmp, landing pads, stack switches, functions that return twice."""

from __future__ import annotations

import pytest

from tests.truth.jumps import COROUTINE, LANDING, LONGJMP, MARK
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import labels_where, steps_at, watch

SWITCHED = {"x86_64": {"switched"}, "arm64": {"switched", "switched+0x4"}}
SWITCHED["a32"] = SWITCHED["arm64"]
SWITCHED["thumb"] = {"switched", "switched+0x2"}


@pytest.mark.parametrize("isa", LONGJMP)
def test_longjmp_drops_to_the_function_that_called_setjmp(isa: str) -> None:
    truth = watch(
        isa,
        LONGJMP[isa] + MARK[isa],
        "mark = mark, main, _start",
        "inner_body = inner, middle, main, _start",
        "landed = main, _start",
        "leaf = leaf, main, _start",
    )
    assert labels_where(truth, truth.transition) == SWITCHED[isa]


# As the compiler makes `__builtin_longjmp`: FP is loaded before SP.
POINTER_FIRST = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 32
    mov [rsp], rbp
    lea rax, [rip + landed]
    mov [rsp + 8], rax
    mov [rsp + 16], rsp
    mov rdi, rsp
    call middle
    ud2
landed:
    mov eax, 42
    leave
    ret
fn middle
    push rbp
    mov rbp, rsp
    call jumper
    ud2
fn jumper
    push rbp
    mov rbp, rsp
    sub rsp, 16
body:
    mov rax, [rdi + 8]
    mov rbp, [rdi]
pointed:
    mov rsp, [rdi + 16]
switched:
    jmp rax
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    mov x29, sp
    adr x9, landed
    mov x10, sp
    stp x29, x9, [sp, #16]
    str x10, [sp, #32]
    add x0, sp, #16
    bl middle
    udf #0
landed:
    mov x0, #42
    ldp x29, x30, [sp], #48
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl jumper
    udf #0
fn jumper
    stp x29, x30, [sp, #-16]!
    mov x29, sp
body:
    ldp x29, x9, [x0]
pointed:
    ldr x10, [x0, #16]
loaded:
    mov sp, x10
switched:
    br x9
""",
    "a32": """
fn main
    push {FP, lr}
    mov FP, sp
    sub sp, sp, #16
    ADR r1, landed
    mov r2, sp
    str FP, [sp]
    str r1, [sp, #4]
    str r2, [sp, #8]
    mov r0, sp
    bl middle
    udf #0
    .p2align 2
landed:
    mov sp, FP
    mov r0, #42
    pop {FP, pc}
fn middle
    push {FP, lr}
    mov FP, sp
    bl jumper
    udf #0
fn jumper
    push {FP, lr}
    mov FP, sp
body:
    ldr r1, [r0, #4]
    ldr FP, [r0]
pointed:
    ldr r2, [r0, #8]
loaded:
    mov sp, r2
switched:
    bx r1
""",
}
POINTER_FIRST["thumb"] = (
    POINTER_FIRST["a32"].replace("FP", "r7").replace("ADR r1, landed", "adr.w r1, landed\n adds r1, #1")
)
POINTER_FIRST["a32"] = POINTER_FIRST["a32"].replace("FP", "r11").replace("ADR", "adr")


@pytest.mark.parametrize("isa", POINTER_FIRST)
def test_a_transition_begins_where_fp_is_the_targets_before_sp_is(isa: str) -> None:
    truth = watch(isa, POINTER_FIRST[isa], "body = jumper, middle, main, _start", "landed = main, _start")
    assert labels_where(truth, truth.transition) == {"pointed", "switched", *({"loaded"} if isa != "x86_64" else ())}


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


def test_a_wrapper_that_pops_its_return_address_returns_twice() -> None:
    """musl's sigsetjmp: it calls setjmp with its own return address put away, so it is long gone at the jump."""
    body = """
fn main
    push rbx
    sub rsp, 32
    mov rbx, rsp
    call wrapper
    test eax, eax
    jnz landed
    call middle
    ud2
landed:
    add rsp, 32
    pop rbx
    mov eax, 42
    ret
fn wrapper
    pop qword ptr [rbx + 16]
    call mark
back:
    push qword ptr [rbx + 16]
    jmp finish
fn finish
    nop
    ret
"""
    truth = watch(
        "x86_64",
        body + MARK["x86_64"],
        "mark = mark, wrapper, main, _start",
        "back = wrapper, main, _start",
        "finish = finish, main, _start",
        "inner_body = inner, middle, main, _start",
        "landed = main, _start",
    )
    first, second = steps_at(truth, "back")
    assert truth.node[first] == truth.node[second], "it is the same activation, alive again"
    assert agree_in_pieces(truth, 4).revived, "who was over and goes on was so in one piece"


@pytest.mark.parametrize("isa", COROUTINE)
def test_a_coroutine_runs_on_a_stack_of_its_own_and_both_stay_alive(isa: str) -> None:
    truth = watch(
        isa,
        COROUTINE[isa],
        "switch#1 = switch, main, _start",
        "co = co",
        "spin = co",
        "work_body = work, co",
        "switch#2 = switch, work, co",
        "back_1 = main, _start",
        "resumed = work, co",
        "leaf#1 = leaf, work, co",
        "back_2 = main, _start",
        "leaf#2 = leaf, main, _start",
    )
    assert [a.index for a in truth.activations if a.parent is None] == [0, truth.node[steps_at(truth, "co")[0]]]
    marked = labels_where(truth, truth.transition)
    assert "switched" in marked
    assert all(name.startswith("switched") for name in marked), marked


MANY_STACKS = """
fn main
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, sp
    adrp x9, their_end
    add x9, x9, :lo12:their_end
    mov sp, x9
    bl outer
back:
    mov sp, x19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn outer
    stp x29, x30, [sp, #-16]!
    mov x1, #3
loop:
    bl leaf
    subs x1, x1, #1
    b.ne loop
    ldp x29, x30, [sp], #16
    ret
fn leaf
    mov x0, #42
    ret
.bss
.p2align 4
theirs: .space 1024
their_end: .space 64
"""


def test_a_call_on_another_stack_keeps_the_chain() -> None:
    watch(
        "arm64",
        MANY_STACKS,
        "loop = outer, main, _start",
        "leaf = leaf, outer, main, _start",
        "back = main, _start",
    )


STACK_ON_STACK = """
fn main
    mov x20, sp
    adrp x9, theirs_end
    add x9, x9, :lo12:theirs_end
    mov sp, x9
    b co
    udf #0
fn co
    mov x19, sp
    adrp x9, others_end
    add x9, x9, :lo12:others_end
    mov sp, x9
    bl outer
back:
    mov sp, x20
    mov x0, #42
    mov x8, #93
    svc #0
fn outer
    stp x29, x30, [sp, #-16]!
    mov x1, #3
loop:
    bl leaf
    subs x1, x1, #1
    b.ne loop
    ldp x29, x30, [sp], #16
    ret
fn leaf
    ret
.bss
.p2align 4
theirs: .space 1024
theirs_end: .space 1024
others_end: .space 64
"""


def test_a_call_on_another_stack_above_the_bottom_of_the_first_one_keeps_the_chain() -> None:
    """Both stacks lie in one region, so SP is above the chain's bottom all the time: that is no fresh stack then."""
    truth = watch("arm64", STACK_ON_STACK, "loop = outer, co", "leaf = leaf, outer, co", "back = co")
    assert [a.index for a in truth.activations if a.parent is None] == [0, truth.node[steps_at(truth, "co")[0]]]


def test_a_landing_leaves_the_other_stack_altogether() -> None:
    """The pad's stack pointer lies on the first stack: nothing of the second one remains."""
    body = MANY_STACKS.replace("    b.ne loop\n", "    adr x9, pad\n    mov sp, x19\n    br x9\n").replace(
        "back:", "back:\n    udf #0\npad:\n    bl leaf\n"
    )
    watch("arm64", body, "loop = outer, main, _start", "leaf#2 = leaf, main, _start", "pad = main, _start")


def test_longjmp_over_functions_without_frames_leaves_none_of_them() -> None:
    """``middle`` keeps its return address in x20: it, and what it calls, have main's SP when they start."""
    plain = "fn middle\n    stp x29, x30, [sp, #-32]!\n    bl inner"
    assert plain in MARK["arm64"]
    mark = MARK["arm64"].replace(plain, "fn middle\n    mov x20, x30\n    bl inner")
    truth = watch(
        "arm64",
        LONGJMP["arm64"] + mark,
        "inner_body = inner, middle, main, _start",
        "landed = main, _start",
        "leaf = leaf, main, _start",
    )
    assert truth.transition.any()


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
