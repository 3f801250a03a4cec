"""Tail calls as they are watched: which jumps count, and in what order they are remembered."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.runs.run import run_program
from testbed.truth import Truth
from testbed.truth.departures import find_departures
from tests.truth.watched import steps_at, watch

# outer gives its frame up and jumps to next; next jumps inside itself, back and forth, with a frame of its own.
JUMPS = {
    "x86_64": """
fn main
    sub rsp, 24
    call outer
    add rsp, 24
    ret
fn outer
    sub rsp, 40
    mov eax, 40
    add rsp, 40
    jmp next
fn next
    sub rsp, 8
    add eax, 1
    cmp eax, 41
    je again
back:
    add rsp, 8
    jmp through
again:
    add eax, 1
    jmp back
fn through
    nop
fn below
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    bl outer
    ldp x29, x30, [sp], #16
    ret
fn outer
    sub sp, sp, #32
    mov x0, #40
    add sp, sp, #32
    b next
fn next
    sub sp, sp, #16
    add x0, x0, #1
    cmp x0, #41
    b.eq again
back:
    add sp, sp, #16
    b through
again:
    add x0, x0, #1
    b back
fn through
    nop
fn below
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl outer
    pop {r4, pc}
fn outer
    sub sp, sp, #32
    mov r0, #40
    add sp, sp, #32
    b next
fn next
    sub sp, sp, #16
    add r0, r0, #1
    cmp r0, #41
    beq again
back:
    add sp, sp, #16
    b through
again:
    add r0, r0, #1
    b back
fn through
    nop
fn below
    bx lr
""",
}
JUMPS["thumb"] = JUMPS["a32"].replace("add r0, r0, #1", "adds r0, r0, #1").replace("mov r0", "movs r0")

# A jump to another function with the frame still on the stack, and one into the middle of a function: no tail calls.
NO_CALLS = {
    "x86_64": """
fn main
    mov eax, 42
    sub rsp, 8
    jmp piece
fn piece
    add rsp, 8
    jmp middle
fn other
    ud2
middle:
    ret
""",
    "arm64": """
fn main
    mov x0, #42
    sub sp, sp, #16
    b piece
fn piece
    add sp, sp, #16
    b middle
fn other
    udf #0
middle:
    ret
""",
    "a32": """
fn main
    mov r0, #42
    sub sp, sp, #16
    b piece
fn piece
    add sp, sp, #16
    b middle
fn other
    udf #0
middle:
    bx lr
""",
}
NO_CALLS["thumb"] = NO_CALLS["a32"].replace("mov r0", "movs r0")


def names(truth: Truth, step: int) -> list[tuple[str, list[str]]]:
    """(the function, those that left before it, the last one first) of every frame."""
    image = truth.trace.images[0].image
    by_address = {symbol.address: symbol.name for symbol in image.symbols if symbol.is_function}
    calls = find_departures(truth).calls(step)
    assert len(calls) == len(truth.stack(step))
    return [(by_address[call.function or 0], [by_address[entry] for entry in call.gone]) for call in calls]


@pytest.mark.parametrize("isa", JUMPS)
def test_a_function_that_gave_its_frame_up_and_went_to_another_has_tail_called_it(isa: str) -> None:
    truth = watch(isa, JUMPS[isa], "outer = outer, main, _start", "below = below, main, _start")
    outside = [("main", []), ("_start", [])]
    assert names(truth, steps_at(truth, "outer")[0]) == [("outer", []), *outside]
    assert names(truth, steps_at(truth, "next")[0]) == [("next", ["outer"]), *outside]
    assert names(truth, steps_at(truth, "again")[0]) == [("next", ["outer"]), *outside], "a jump inside is no call"
    assert names(truth, steps_at(truth, "through")[0]) == [("through", ["next", "outer"]), *outside]
    fallen = names(truth, steps_at(truth, "below")[0])
    assert fallen == [("below", ["through", "next", "outer"]), *outside], "falling into the next function is one too"
    assert names(truth, len(truth.trace) - 1) == [("_start", [])], "the history ends with its activation"
    assert find_departures(truth).count == 3


@pytest.mark.parametrize("isa", NO_CALLS)
def test_a_jump_with_a_frame_or_into_the_middle_is_no_tail_call(isa: str) -> None:
    truth = watch(isa, NO_CALLS[isa], "piece = piece, _start", "middle = other, _start")
    assert find_departures(truth).count == 0
    assert names(truth, steps_at(truth, "middle")[0]) == [("other", []), ("_start", [])]


WATCHED = {"tail_call": 2, "tail_chain": 2, "tail_branches": 9, "cxx_names": 1}


@pytest.mark.parametrize("name", ["switch_table", "recursion", "mutual_recursion", "noreturn_last_call", *WATCHED])
def test_the_corpus_has_as_many_as_its_sources_say(name: str) -> None:
    """A switch through a table, a loop and a return are no tail calls; as many on every architecture."""
    program = PROGRAMS[name]
    for arch in ARCHES.values():
        recipe = next(r for r in recipes_for(program, arch) if r.name in ("clang-O2", "clang-asm"))
        assert find_departures(run_program(program, arch, recipe.name).watched).count == WATCHED.get(name, 0), arch
