"""Traits about where a table's row begins, and about labels that count as functions: of instructions, one by one."""

from __future__ import annotations

import pytest

from testbed.machine import record
from testbed.truth import Truth, observe
from testbed.words.traits import Trait
from tests.machine.snippets import image_of
from tests.truth.watched import agree_in_columns, steps_at, watch

BODY = {
    "x86_64": """
fn main
    push rbp
main_pushed:
    mov rbp, rsp
main_body:
    sub rsp, 16
main_room:
    mov ecx, 2
main_again:
    dec ecx
    jnz main_again
    call work
    mov rsp, rbp
main_left:
    pop rbp
main_popped:
    mov eax, 42
    ret
fn work
    push rbx
work_pushed:
    xor ebx, ebx
work_behind:
    test ebx, ebx
    jz work_taken
    pop rbx
    ret
work_taken:
    pop rbx
work_popped:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
main_pushed:
    mov x29, sp
main_body:
    sub sp, sp, #16
main_room:
    mov x1, #2
main_again:
    subs x1, x1, #1
    b.ne main_again
    bl work
    mov sp, x29
main_left:
    ldp x29, x30, [sp], #16
main_popped:
    mov x0, #42
    ret
fn work
    str x19, [sp, #-16]!
work_pushed:
    mov x19, #0
work_behind:
    cbz x19, work_taken
    ldr x19, [sp], #16
    ret
work_taken:
    ldr x19, [sp], #16
work_popped:
    ret
""",
    "thumb": """
fn main
    push {r7, lr}
main_pushed:
    mov r7, sp
main_body:
    sub sp, #16
main_room:
    movs r1, #2
main_again:
    subs r1, #1
    bne main_again
    bl work
    mov sp, r7
main_left:
    movs r0, #42
main_popped:
    pop {r7, pc}
fn work
    push {r4}
work_pushed:
    movs r4, #0
work_behind:
    cmp r4, #0
    beq work_taken
    pop {r4}
    bx lr
work_taken:
    pop {r4}
work_popped:
    bx lr
""",
}


LABELS = (
    *("main_pushed", "main_body", "main_room", "main_again", "main_left", "main_popped"),
    *("work_pushed", "work_behind", "work_taken", "work_popped"),
)


@pytest.fixture(params=BODY)
def truth(request: pytest.FixtureRequest) -> Truth:
    watched = watch(request.param, BODY[request.param], "work_behind = work, main, _start")
    agree_in_columns(watched)
    return watched


def has(truth: Truth, label: str, trait: Trait, visit: int = 0) -> bool:
    return trait in truth.frame_traits(steps_at(truth, label)[visit], 0)


def test_a_cfa_is_counted_from_sp_until_fp_leads_to_the_record(truth: Truth) -> None:
    moved = {label for label in LABELS if has(truth, label, Trait.CFA_MOVED)}
    popped = set() if truth.trace.arch.name == "arm32" else {"main_popped"}  # there nothing comes behind the pop
    assert moved == {"main_pushed", "work_pushed", "work_popped"} | popped
    assert has(truth, "main_room", Trait.ROW_BEGINS)  # SP has moved, and no CFA with it


def test_fp_is_set_by_the_instruction_in_front_only(truth: Truth) -> None:
    assert {label for label in LABELS if has(truth, label, Trait.FP_SET)} == {"main_body"}


def test_a_jump_past_code_that_never_runs_lands_behind_another_path_and_a_loops_does_not(truth: Truth) -> None:
    assert has(truth, "work_taken", Trait.OTHER_IN_FRONT)
    assert has(truth, "main_again", Trait.JUMPED_TO, visit=1)
    assert not has(truth, "main_again", Trait.OTHER_IN_FRONT, visit=1)


def test_a_label_that_a_symbol_in_front_reaches_over_is_no_function(truth: Truth) -> None:
    """The function's own symbol has a size and reaches over its first label, and no label has one."""
    framed = {label for label in LABELS if has(truth, label, Trait.FRAMED_AT_LABEL)}
    popping = {"main_popped"} if truth.trace.arch.name == "arm32" else set()
    assert framed == {"main_body", "main_room", "main_again", "main_left", "work_behind", "work_taken"} | popping
    assert has(truth, "work_pushed", Trait.BEHIND_LABEL)
    assert not has(truth, "work_popped", Trait.FRAMED_AT_LABEL)  # nothing is on the stack where that label lies


def test_a_caller_stands_behind_a_label_as_an_interrupted_function_does(truth: Truth) -> None:
    """`main` calls behind a label at which it has a frame; `_start`, which calls `main`, has none."""
    for step in range(len(truth.trace)):
        callers = [frame for frame in range(3) if Trait.CALLER_FRAMED_AT_LABEL in truth.frame_traits(step, frame)]
        inside = len(truth.stack(step).frames)
        assert callers == ([1] if inside == 3 else []), step


GIVES_BACK = """
fn main
    sub sp, sp, #64
    add sp, sp, #32
between:
    add sp, sp, #32
behind:
    mov x0, #42
    ret
"""


def test_what_is_given_back_in_part_is_so_where_the_run_ends_behind_it() -> None:
    whole = record(image_of("arm64", GIVES_BACK), budget=100)
    (between,) = steps_at(observe(whole), "between")
    for budget in range(between + 1, len(whole) + 1):
        truth = observe(record(image_of("arm64", GIVES_BACK), budget=budget))
        found = [step for step in range(len(truth.trace)) if Trait.GIVEN_BACK_IN_PART in truth.frame_traits(step, 0)]
        # Of the last step nobody knows what it does.
        assert found == ([between] if len(truth.trace) > between + 1 else []), budget
        agree_in_columns(truth)
