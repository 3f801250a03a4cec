"""Coroutines, calls on another stack, and landings that leave it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from testbed.truth import Truth, observe
from tests.truth.coroutines import COROUTINE
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import agree, labels_where, steps_at, watch
from tests.witness.rules import MAKER
from tests.witness.witnessed import witness


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


@pytest.mark.parametrize("isa", MAKER)
def test_the_maker_says_who_called_though_nobody_returns_there(isa: str) -> None:
    never = MAKER[isa].replace("xor edx, edx", "mov edx, 1").replace("mov x2, #0", "mov x2, #1") + "\n"
    watch(isa, MAKER[isa] + "\n", "in_work#1 = work, gone")
    watch(isa, never, "in_work = work, gone")


@pytest.mark.parametrize("isa", COROUTINE)
def test_what_goes_on_on_a_stack_that_another_thread_left_is_undecided(isa: str) -> None:
    """Had another thread run the coroutine meanwhile, nobody here could say who calls there; main is told all along."""
    stores_link = COROUTINE[isa].replace("mov sp, x9", "mov sp, x9\n    nop\n    str x30, [x1]")
    here = watch(isa, stores_link, "co = co")
    trace = replace(here.trace, taken_over=tuple(_arrivals(here)))
    truth = observe(trace)
    marked = labels_where(truth, truth.undecided)
    assert "resumed" in marked and not marked & {"main", "back_1", "back_2"}
    assert {(isa, name) for name in marked} <= {(isa, name) for name in labels_where(here, ~here.undecided)}
    agree(trace)
    for length in (4, 5, 9, 30):
        agree_in_pieces(truth, length)


def _arrivals(truth: Truth) -> list[int]:
    """The steps at which SP comes to the coroutine's stack."""
    other = np.abs(truth.trace.sp.astype(np.int64) - int(truth.trace.sp[0])) > 0x10000
    return (np.flatnonzero(~other[:-1] & other[1:]) + 1).tolist()


def test_what_a_call_left_at_the_return_place_is_no_makers() -> None:
    """outer ran there and came back: its return address still lies where co begins."""
    body = "fn main\npush rbx\nmov rbx, rsp\nlea rax, [rip + top]\nmov rsp, rax\ncall outer\nbehind: mov rsp, rbx\n"
    body += "lea rcx, [rip + co]\nlea rdx, [rip + back]\nlea rax, [rip + top - 8]\nmov rsp, rax\njmp rcx\nnop\n"
    body += "back: mov eax, 42\npop rbx\nret\nfn outer\nin_outer: ret\n"
    body += "fn co\ncall last\nnop\nfn last\nnop\nin_last: mov rsp, rbx\njmp rdx\n"
    body += ".bss\n.space 64\ntop: .space 8\n"
    stacks = ("in_outer = outer, main, _start", "in_last = last, co", "back = main, _start")
    watch("x86_64", body, *stacks)
    witness("x86_64", body, *stacks)


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
