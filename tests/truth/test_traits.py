"""Traits: what is true of each site, from SP, FP and the activation alone."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.truth import Truth
from testbed.words.traits import Trait
from tests.truth.watched import agree_in_columns, steps_at, watch

P, E, L, LC, R = Trait.PROLOGUE, Trait.EPILOGUE, Trait.FRAMELESS, Trait.FRAMELESS_CALLER, Trait.FP_REUSED

FRAME_SHAPE = {P, E, L, LC, R, Trait.MIXED_ISA, Trait.TRANSITION}


def shape(truth: Truth, step: int) -> set[Trait]:
    """The traits about frames; what the link register and the stack hold has tests of its own."""
    return set(truth.traits(step)) & FRAME_SHAPE


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


# As GCC does it for arrays of variable length: from its last call on, r7 is where the epilogue wants it.
MOVES_ON = """
fn main
    push {r7, lr}
    mov r7, sp
    bl work
    mov r0, #42
    pop {r7, pc}
fn work
    push {r7, lr}
    sub sp, #16
    add r7, sp, #0
work_body:
    nop
    adds r7, #16
work_moved:
    sub sp, #8
    nop
work_left:
    mov sp, r7
    pop {r7, pc}
"""


def test_a_frame_pointer_that_moves_on_in_its_frame() -> None:
    truth = watch("thumb", MOVES_ON, "work_moved = work, main, _start")
    agree_in_columns(truth)
    where = truth.trace.images[0].image.symbol_named
    symbols = {name: where(name) for name in ("work", "work_body", "work_moved")}
    assert all(symbols.values())
    work, body, moved = (symbol.address for symbol in symbols.values() if symbol)
    inside = [step for step in range(len(truth.trace)) if work <= int(truth.trace.pc[step]) < moved + 8]
    for step in inside:
        pc = int(truth.trace.pc[step])
        traits = truth.frame_traits(step, 0)
        assert (Trait.FP_MOVED_ON in traits) == (pc >= moved), hex(pc)
        # r7 leads to locals from where it is set; when it has moved on, to the saved r7, and so to lr behind it.
        assert (Trait.FP_FOR_LOCALS in traits) == (body <= pc < moved), hex(pc)
        assert Trait.FP_MOVED_ON not in truth.frame_traits(step, 1)


def test_a_frame_pointer_at_a_local_is_told_from_one_elsewhere() -> None:
    """`over_data` points FP at its caller's numbers, `over_local` at its own; `helper` links a record."""
    truth = run_program(PROGRAMS["pointer_reused"], ARCHES["x86_64"], "clang-asm")
    both = {Trait.FP_FOR_LOCALS, Trait.FP_REUSED, Trait.UNLINKED}
    at = {place: truth.frame_traits(truth.step_at(place), 0) & both for place in _POINTERS}
    assert at == {place: set(traits) for place, traits in _POINTERS.items()}
    assert truth.frame_traits(truth.step_at("helper"), 1) & both == {Trait.FP_REUSED, Trait.UNLINKED}


_POINTERS = {
    "over_data_body": (Trait.FP_REUSED, Trait.UNLINKED),
    "over_local_body": (Trait.FP_FOR_LOCALS, Trait.UNLINKED),
    "middle": (Trait.UNLINKED,),
    "main_body": (),
}
