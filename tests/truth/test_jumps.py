"""Non-local transfers: longjmp, landing pads, stack switches, functions that return twice."""

from __future__ import annotations

import pytest

from tests.truth.jumps import LONGJMP, MARK, SWITCHED
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import labels_where, steps_at, watch


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
