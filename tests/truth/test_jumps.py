"""Non-local transfers: longjmp, landing pads, stack switches, functions that return twice."""

from __future__ import annotations

import pytest

from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import labels_where, steps_at, watch

# main marks a place, calls middle, which calls inner, which jumps back to the mark: `mark` returns a second time.
MARK = {
    "x86_64": """
fn mark
    lea rax, [rsp + 8]
    mov [rbx], rax
    mov rax, [rsp]
    mov [rbx + 8], rax
    xor eax, eax
    ret
fn middle
    sub rsp, 24
    call inner
    ud2
fn inner
    sub rsp, 40
    mov rdx, [rbx + 8]
    mov eax, 1
inner_body:
    mov rsp, [rbx]
switched:
    jmp rdx
""",
    "arm64": """
fn mark
    mov x9, sp
    stp x9, x30, [x19]
    mov x0, #0
    ret
fn middle
    stp x29, x30, [sp, #-32]!
    bl inner
    udf #0
fn inner
    sub sp, sp, #48
    ldp x9, x10, [x19]
    mov x0, #1
inner_body:
    mov sp, x9
switched:
    nop
    br x10
""",
    "a32": """
fn mark
    mov r1, sp
    str r1, [r4]
    str lr, [r4, #4]
    mov r0, #0
    bx lr
fn middle
    push {r5, lr}
    bl inner
    udf #0
fn inner
    sub sp, sp, #48
    ldr r1, [r4]
    ldr r2, [r4, #4]
    movs r0, #1
inner_body:
    mov sp, r1
switched:
    nop
    bx r2
""",
}
MARK["thumb"] = MARK["a32"]
LONGJMP = {
    "x86_64": """
fn main
    push rbx
    sub rsp, 16
    mov rbx, rsp
    call mark
    test eax, eax
    jnz landed
    call middle
    ud2
landed:
    call leaf
    add rsp, 16
    pop rbx
    ret
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-48]!
    str x19, [sp, #16]
    add x19, sp, #32
    bl mark
    cbnz x0, landed
    bl middle
    udf #0
landed:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    sub sp, sp, #8
    mov r4, sp
    bl mark
    cmp r0, #0
    bne landed
    bl middle
    udf #0
landed:
    bl leaf
    add sp, sp, #8
    pop {r4, pc}
fn leaf
    mov r0, #42
    bx lr
""",
}
LONGJMP["thumb"] = LONGJMP["a32"]
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


LANDING = {
    "x86_64": """
fn main
    sub rsp, 8
    call catcher
main_back:
    add rsp, 8
    ret
fn catcher
    push rbx
    sub rsp, 32
    mov rbx, rsp
    call middle
    ud2
pad:
    call leaf
    add rsp, 32
    pop rbx
    ret
fn middle
    sub rsp, 8
    call thrower
    ud2
fn thrower
    lea rdx, [rip + pad]
    mov rsp, rbx
switched:
    jmp rdx
fn leaf
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl catcher
main_back:
    ldp x29, x30, [sp], #16
    ret
fn catcher
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, sp
    bl middle
    udf #0
pad:
    bl leaf
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    bl thrower
    udf #0
fn thrower
    adr x9, pad
    mov sp, x19
switched:
    nop
    br x9
fn leaf
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl catcher
main_back:
    pop {r4, pc}
fn catcher
    push {r4, r5, r6, lr}
    mov r4, sp
    bl middle
    udf #0
    .p2align 2
pad:
    bl leaf
    pop {r4, r5, r6, pc}
fn middle
    push {r5, lr}
    bl thrower
    udf #0
fn thrower
    ldr r1, =pad
    THUMB_BIT
    mov sp, r4
switched:
    nop
    bx r1
    .ltorg
fn leaf
    mov r0, #42
    bx lr
""",
}
LANDING["thumb"] = LANDING["a32"].replace("THUMB_BIT", "orr r1, r1, #1")
LANDING["a32"] = LANDING["a32"].replace("THUMB_BIT", "")


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
