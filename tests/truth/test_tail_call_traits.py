"""Prologues and epilogues where a function ends in a tail call."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.words.traits import Trait
from tests.truth.frame_shape import E, L, P, shape
from tests.truth.watched import agree_in_columns, steps_at, watch


def test_a_tail_called_function_has_a_prologue_of_its_own() -> None:
    body = """
fn main
    push rbp
    mov rbp, rsp
    nop
    nop
    pop rbp
main_jump:
    jmp second
    ud2
fn second
    push rbp
second_pushed:
    mov rbp, rsp
    sub rsp, 64
second_body:
    mov eax, 42
    nop
    nop
    leave
second_return:
    ret
"""
    truth = watch("x86_64", body, "main = main, _start", "second_body = second, _start")

    def at(label: str) -> set[Trait]:
        (step,) = steps_at(truth, label)
        return shape(truth, step)

    assert [at(name) for name in ("main_jump", "second", "second_pushed", "second_body", "second_return")] == [
        {E},
        {P},
        {P},
        set(),
        {E},
    ]


NEXT = {
    "x86_64": """
fn main
    call outer
    ret
fn outer
    push rbp
    mov rbp, rsp
outer_body:
    pop rbp
outer_jump:
    jmp target
fn target
    nop
target_push:
    push rbp
target_move:
    mov rbp, rsp
target_body:
    mov eax, 42
    pop rbp
target_return:
    ret
""",
    "arm64": """
fn main
    mov x19, x30
    bl outer
    mov x30, x19
    ret
fn outer
    stp x29, x30, [sp, #-16]!
    mov x29, sp
outer_body:
    ldp x29, x30, [sp], #16
outer_jump:
    b target
fn target
    nop
target_push:
    stp x29, x30, [sp, #-16]!
target_move:
    mov x29, sp
target_body:
    mov x0, #42
    ldp x29, x30, [sp], #16
target_return:
    ret
""",
}


@pytest.mark.parametrize("isa", NEXT)
def test_a_tail_call_to_the_next_address_ends_one_frame_and_begins_another(isa: str) -> None:
    """``jmp target`` right before ``target`` leaves no transfer to see: only SP and FP at home between two frames."""
    truth = watch(isa, NEXT[isa], "target_body = target, main, _start")
    expected = {
        "outer_jump": {E},
        "target_push": {P},
        "target_move": {P},
        "target_body": set(),
        "target_return": {E},
    }
    for label, traits in expected.items():
        (step,) = steps_at(truth, label)
        assert truth.traits(step) & {P, E, L} == traits, label


AGAIN = {
    "x86_64": """
fn main
    mov edi, 3
    call again
    ret
fn again
    test edi, edi
    jz out
    sub edi, 1
    call again
out:
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    str x30, [sp, #-16]!
    mov w1, #3
    bl again
    ldr x30, [sp], #16
    ret
fn again
    str x30, [sp, #-16]!
    cbz w1, out
    sub w1, w1, #1
    bl again
out:
    ldr x30, [sp], #16
    mov x0, #42
    ret
""",
}


@pytest.mark.parametrize("isa", AGAIN)
def test_a_function_that_was_called_from_where_its_caller_was_has_the_same_return_address(isa: str) -> None:
    truth = watch(isa, AGAIN[isa], "out#1 = again, again, again, again, main, _start")
    agree_in_columns(truth)
    seen = [
        [Trait.SAME_RETURN in truth.frame_traits(step, depth) for depth in range(5)] for step in steps_at(truth, "out")
    ]
    assert seen == [[depth < calls for depth in range(5)] for calls in (2, 1, 0, 0)]


def test_no_signal_returns_to_where_its_handler_does() -> None:
    run = run_program(PROGRAMS["signal"], ARCHES["arm64"], "keystone")
    depths = range(4)
    assert not any(Trait.SAME_RETURN in run.watched.frame_traits(step, d) for step in range(len(run)) for d in depths)
