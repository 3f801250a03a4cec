"""Traits: what is true of each site, from SP, FP and the activation alone."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.words.traits import Trait
from tests.truth.frame_shape import LC, E, L, P, R, shape
from tests.truth.watched import steps_at, watch

FRAMES = {
    "x86_64": """
fn main
    push rbp
main_pushed:
    mov rbp, rsp
main_body:
    call leaf
    call bare
    call reuser
    mov ecx, 2
main_last:
    pop rbp
main_return:
    ret
fn leaf
    mov eax, 42
leaf_return:
    ret
fn bare
    push rbx
bare_body:
    call leaf
    pop rbx
bare_return:
    ret
fn reuser
    push rbp
reuser_pushed:
    mov ebp, 7
reuser_body:
    call leaf
    nop
    pop rbp
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
main_pushed:
    mov x29, sp
main_body:
    bl leaf
    bl bare
    bl reuser
    mov x1, #2
main_last:
    ldp x29, x30, [sp], #16
main_return:
    ret
fn leaf
    mov x0, #42
leaf_return:
    ret
fn bare
    str x30, [sp, #-16]!
bare_body:
    bl leaf
    ldr x30, [sp], #16
bare_return:
    ret
fn reuser
    stp x29, x30, [sp, #-16]!
reuser_pushed:
    mov x29, #7
reuser_body:
    bl leaf
    nop
    ldp x29, x30, [sp], #16
    ret
""",
    "a32": """
fn main
    push {FP, lr}
main_pushed:
    mov FP, sp
main_body:
    bl leaf
    bl bare
    bl reuser
    mov r1, #2
main_last:
    pop {FP, lr}
main_return:
    bx lr
fn leaf
    mov r0, #42
leaf_return:
    bx lr
fn bare
    push {r4, lr}
bare_body:
    bl leaf
    pop {r4, lr}
bare_return:
    bx lr
fn reuser
    push {FP, lr}
reuser_pushed:
    mov FP, #7
reuser_body:
    bl leaf
    nop
    pop {FP, pc}
""",
}
FRAMES["thumb"] = FRAMES["a32"].replace("FP", "r7").replace("pop {r7, lr}", "pop.w {r7, lr}")
FRAMES["thumb"] = FRAMES["thumb"].replace("pop {r4, lr}", "pop.w {r4, lr}").replace("mov r7, #7", "movs r7, #7")
FRAMES["a32"] = FRAMES["a32"].replace("FP", "r11")

EXPECTED = {
    "main": [{P}],
    "main_pushed": [{P}],
    "main_body": [set()],
    "main_last": [set()],
    "main_return": [{E}],
    "leaf": [{L}, {L, LC}, {L, R}],
    "leaf_return": [{L}, {L, LC}, {L, R}],
    "bare": [{P, L}],
    "bare_body": [{L}],
    "bare_return": [{E, L}],
    "reuser": [{P}],
    "reuser_pushed": [{P}],
    "reuser_body": [{R}],
}


@pytest.mark.parametrize("isa", FRAMES)
def test_each_label_has_exactly_its_traits(isa: str) -> None:
    truth = watch(isa, FRAMES[isa], "bare_body = bare, main, _start")
    seen = {label: [shape(truth, step) for step in steps_at(truth, label)] for label in EXPECTED}
    assert seen == EXPECTED


def test_each_turn_of_a_frameless_loop_is_settled_from_its_start() -> None:
    """A loop before the frame is made (shrink-wrapping): only the part after it has a prologue."""
    body = """
fn main
    mov ecx, 3
loop:
    dec ecx
    jnz loop
made:
    push rbp
    mov rbp, rsp
made_body:
    mov eax, 42
    nop
    pop rbp
    ret
"""
    truth = watch("x86_64", body, "loop = main, _start")
    loops = [shape(truth, step) for step in steps_at(truth, "loop")]
    assert loops == [{L}, {L}, {P}], "the last turn runs on into the frame"
    assert shape(truth, steps_at(truth, "made")[0]) == {P}
    assert shape(truth, steps_at(truth, "made_body")[0]) == set()


def test_a_stack_of_a32_and_thumb_frames_is_mixed() -> None:
    body = """
fn main
    push {r11, lr}
    mov r11, sp
main_body:
    blx other
    pop {r11, pc}
.thumb
.thumb_func
fn other
    push {r7, lr}
    mov r7, sp
other_body:
    movs r0, #42
    bl inner
    pop {r7, pc}
.thumb_func
fn inner
    nop
inner_return:
    bx lr
"""
    truth = watch("a32", body, "main_body = main, _start", "inner_return = inner, other, main, _start")
    mixed = {
        label: [Trait.MIXED_ISA in truth.traits(step) for step in steps_at(truth, label)]
        for label in ("_start", "main_body", "other", "other_body", "inner_return")
    }
    assert mixed == {
        "_start": [False],
        "main_body": [False],
        "other": [True],
        "other_body": [True],
        "inner_return": [True],
    }
    assert Trait.FRAMELESS in truth.traits(steps_at(truth, "inner_return")[0])
    assert Trait.PROLOGUE in truth.traits(steps_at(truth, "other")[0]), "in Thumb code the frame pointer is r7"


@pytest.mark.parametrize(("program", "mixed"), [("signal", set()), ("signal_interworking", {0, 1})])
def test_a_trampoline_has_the_instruction_set_that_its_handler_returns_to(program: str, mixed: set[int]) -> None:
    """It has not run yet; so it is mixed with its handler, which calls it its caller."""
    run = run_program(PROGRAMS[program], ARCHES["arm32"], "keystone")
    step = run.step_at("on_signal_body")
    found = {depth for depth in range(5) if Trait.MIXED_ISA in run.watched.frame_traits(step, depth)}
    assert Trait.SIGNAL in run.watched.frame_traits(step, 1)
    assert found == mixed


def test_the_settled_frame_is_the_one_with_the_frame_pointer_set() -> None:
    body = """
fn main
    push rbp
pushed:
    nop
    nop
    nop
    nop
    mov rbp, rsp
body:
    mov eax, 42
    pop rbp
    ret
"""
    truth = watch("x86_64", body, "body = main, _start")
    (pushed,), (settled,) = steps_at(truth, "pushed"), steps_at(truth, "body")
    assert [shape(truth, step) for step in range(pushed, settled)] == [{P}] * 5
    assert shape(truth, settled) == set()
