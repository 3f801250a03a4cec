"""Coroutines, calls on another stack, and landings that leave it."""

from __future__ import annotations

import pytest

from tests.truth.coroutines import COROUTINE
from tests.truth.watched import labels_where, steps_at, watch


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
