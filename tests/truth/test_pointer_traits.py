"""What a frame pointer is used for, seen at each step."""

from __future__ import annotations

from dataclasses import replace

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.words.traits import Trait
from tests.truth.watched import agree_in_columns, steps_at, watch

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


# As GCC does it at the end of a frame that is too large for one instruction, with others between them.
MOVES_TWICE = """
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
    adds r7, #8
work_between:
    nop
    adds r7, #8
work_moved:
    mov sp, r7
    pop {r7, pc}
"""


def test_a_frame_pointer_that_moves_on_by_two_instructions() -> None:
    truth = watch("thumb", MOVES_TWICE, "work_moved = work, main, _start")
    agree_in_columns(truth)
    where = truth.trace.images[0].image.symbol_named
    between, moved = (symbol.address for name in ("work_between", "work_moved") if (symbol := where(name)))
    shown = {
        int(truth.trace.pc[step])
        for step in range(len(truth.trace))
        if Trait.FP_MOVED_IN_PART in truth.frame_traits(step, 0)
    }
    assert shown == set(range(between, moved, 2))


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


def test_where_gcc_has_its_frame_pointer_the_return_address_lies() -> None:
    """`early_return` keeps its records as GCC does on 32-bit ARM, `leaf_call` as the procedure call standard says."""
    found = {}
    for name in ("early_return", "leaf_call"):
        run = run_program(PROGRAMS[name], ARCHES["arm32"], "keystone")
        agree_in_columns(run.watched)
        sites = [
            run.frame_traits(step, frame) for step in range(len(run)) for frame in range(len(run.truth(step).frames))
        ]
        linked = [traits for traits in sites if Trait.LINKED in traits]
        assert len(linked) > 5
        found[name] = {Trait.FP_AT_RETURN in traits for traits in linked}
        assert not any(Trait.FP_AT_RETURN in traits for traits in sites if Trait.LINKED not in traits)
    assert found == {"early_return": {True}, "leaf_call": {False}}


# FP holds one number after the other: zero, what is mapped nowhere, the last words of a section, those behind it.
LEADS = """
fn main
    xor ebp, ebp
main_zero:
    mov rbp, 0x10
main_nowhere:
    mov rbp, rsp
main_stack:
    mov rbp, -8
main_around:
    lea rbp, [rip + main]
main_code:
    mov ebp, 0
    mov eax, 42
    ret
"""


def test_a_frame_pointer_leads_where_two_words_are_mapped_or_is_zero() -> None:
    truth = watch("x86_64", LEADS, "main_code = main, _start")
    agree_in_columns(truth)
    seen = {
        name: Trait.FP_LEADS in truth.frame_traits(step, 0)
        for name in ("zero", "nowhere", "stack", "around", "code")
        for step in steps_at(truth, f"main_{name}")
    }
    assert seen == {"zero": True, "nowhere": False, "stack": True, "around": False, "code": True}


def test_memory_ends_between_the_words_of_a_record() -> None:
    truth = watch("x86_64", LEADS, "main_code = main, _start")
    region = max(truth.trace.initial, key=lambda each: each.end)
    step = steps_at(truth, "main_stack")[0]
    for short, leads in ((16, True), (15, False), (8, False), (0, False)):
        pointers = truth.sites.frame_pointer.copy()
        pointers[step] = region.end - short
        other = replace(truth, sites=replace(truth.sites, frame_pointer=pointers))
        assert (Trait.FP_LEADS in other.frame_traits(step, 0)) == leads, short
        agree_in_columns(other)
