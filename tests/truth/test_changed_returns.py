"""At which steps the return address that an activation has is another than the one that it was called with."""

from __future__ import annotations

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.truth import Truth
from testbed.words.traits import Trait
from tests.truth.watched import labels_where, watch

# skip returns behind the word that stands behind its call, and calls helper in between, which keeps no link register.
SKIPS = {
    "x86_64": """
fn main
    call skip
    .long 5
    mov eax, 42
    ret
fn skip
    sub rsp, 8
    add qword ptr [rsp + 8], 4
changed:
    call helper
back:
    add rsp, 8
returning:
    ret
fn helper
    nop
cleared:
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl skip
    .word 5
    mov x0, #42
    ldp x29, x30, [sp], #16
    ret
fn skip
    add x30, x30, #4
changed:
    str x30, [sp, #-16]!
saved:
    bl helper
back:
    ldr x30, [sp], #16
returning:
    ret
fn helper
    mov x9, x30
    mov x30, #0
cleared:
    br x9
""",
    "a32": """
fn main
    push {r4, lr}
    bl skip
    .word 5
    mov r0, #42
    pop {r4, pc}
fn skip
    add lr, lr, #4
changed:
    str lr, [sp, #-8]!
saved:
    bl helper
back:
    ldr lr, [sp], #8
returning:
    bx lr
fn helper
    mov r12, lr
    mov lr, #0
cleared:
    bx r12
""",
}


def holding(truth: Truth, trait: Trait, depth: int) -> set[str]:
    """The labels at whose instructions a trait holds of a frame."""
    steps = range(len(truth.trace))
    return labels_where(truth, np.array([trait in truth.frame_traits(step, depth) for step in steps]))


@pytest.mark.parametrize("isa", SKIPS)
def test_the_return_address_is_changed_where_it_stands_changed(isa: str) -> None:
    """Of the interrupted activation alone: who called it may have changed its own.

    A cleared link register is no other.
    """
    truth = watch(isa, SKIPS[isa], "cleared = helper, skip, main, _start", "returning = skip, main, _start")
    # On the stack it stays changed, and a link register has another address behind the call.
    places = {"changed", "back", "returning"} if isa == "x86_64" else {"changed", "saved", "returning"}
    assert holding(truth, Trait.RETURN_CHANGED, 0) == places
    assert holding(truth, Trait.RETURN_CHANGED, 1) == set()


@pytest.mark.parametrize("arch", ARCHES)
def test_where_no_code_is_none_is_left_that_saves_a_register(arch: str) -> None:
    """What the kernel stores in the frame of the signal that arrives there is no save of a function."""
    run = run_program(PROGRAMS["null_call"], ARCHES[arch], "keystone")
    (step,) = (step for step in range(len(run)) if run.truth(step).pcs[0] == 0)
    traits = run.watched.frame_traits(step, 0)
    assert Trait.NO_CODE in traits
    assert not traits & {Trait.UNSAVED, Trait.RETURN_UNSAVED}
