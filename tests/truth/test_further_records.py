"""Traits about where FP leads past an activation, what it holds on the stack, and where its code lies."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import Run, run_program
from testbed.words.traits import Trait
from tests.truth.watched import agree_in_columns, steps_at, watch

LEAF_CALL = {arch: run_program(PROGRAMS["leaf_call"], ARCHES[arch], "keystone") for arch in ARCHES}


def first_of(run: Run, name: str) -> int:
    """The first step at a function's first instruction."""
    image = run.trace.images[0]
    address = next(s.address for s in image.image.symbols if s.name == name) + image.bias
    return run.trace.pc.tolist().index(address)


def holds(run: Run, trait: Trait, step: int, depth: int = 0) -> bool:
    return trait in run.watched.frame_traits(step, depth)


@pytest.mark.parametrize("arch", ARCHES)
def test_before_a_record_is_linked_fp_leads_to_that_of_the_caller(arch: str) -> None:
    run = LEAF_CALL[arch]
    main, middle, leaf = (first_of(run, name) for name in ("main", "middle", "leaf"))
    assert not holds(run, Trait.LINKED_FURTHER, main)  # start code has no record
    assert holds(run, Trait.LINKED_FURTHER, middle) and holds(run, Trait.LINKED_FURTHER, leaf)
    assert not holds(run, Trait.LINKED_FURTHER, leaf, 1)  # `middle` has its own


@pytest.mark.parametrize("arch", ARCHES)
def test_a_record_leads_on_where_that_of_a_further_caller_is_behind_it(arch: str) -> None:
    run = LEAF_CALL[arch]
    main, middle, leaf = (first_of(run, name) for name in ("main", "middle", "leaf"))
    found = [step for step in (main, middle, leaf) if holds(run, Trait.LINKED_FURTHER_ON, step)]
    assert found == [leaf]  # that of `main` has the zero that start code put into FP


@pytest.mark.parametrize("arch", ARCHES)
def test_what_is_on_the_stack_is_held_by_its_activation_at_any_depth(arch: str) -> None:
    run = LEAF_CALL[arch]
    leaf = first_of(run, "leaf")
    assert [holds(run, Trait.HOLDING, leaf, depth) for depth in range(4)] == [False, True, True, False]
    assert holds(run, Trait.HOLDING, leaf + 1)


@pytest.mark.parametrize("arch", ARCHES)
def test_the_first_function_behind_start_code_is_so_at_its_first_instruction_alone(arch: str) -> None:
    run = LEAF_CALL[arch]
    main = first_of(run, "main")
    assert [step for step in range(len(run)) if holds(run, Trait.BEHIND_START, step)] == [main]


@pytest.mark.parametrize("arch", ARCHES)
def test_only_where_a_function_has_its_symbol_is_it_not_past_its_entry(arch: str) -> None:
    run, symbolless = LEAF_CALL[arch], run_program(PROGRAMS["no_symbol"], ARCHES[arch], "keystone")
    entries = {first_of(run, name) for name in ("_start", "main", "middle", "leaf")}
    assert {step for step in range(len(run)) if not holds(run, Trait.PAST_ENTRY, step)} == entries
    assert not holds(run, Trait.PAST_ENTRY, first_of(run, "leaf"), 1)
    first = [step for step in range(len(symbolless)) if holds(symbolless, Trait.FIRST, step)]
    assert any(holds(symbolless, Trait.PAST_ENTRY, step) for step in first)


@pytest.mark.parametrize("arch", ["arm64", "arm32"])
def test_behind_a_store_of_the_return_address_it_is_saved(arch: str) -> None:
    run = LEAF_CALL[arch]
    middle, leaf = first_of(run, "middle"), first_of(run, "leaf")
    assert not holds(run, Trait.RETURN_SAVED, middle) and holds(run, Trait.RETURN_SAVED, middle + 1)
    assert not holds(run, Trait.RETURN_SAVED, leaf, 1)  # of a frame that has called nothing is asked
    spilled = run_program(PROGRAMS["leaf_no_frame"], ARCHES[arch], "keystone")
    steps = [step for step in range(len(spilled)) if holds(spilled, Trait.FRAMELESS, step)]
    assert any(not holds(spilled, Trait.RETURN_SAVED, step) for step in steps)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_function_saves_registers_wherever_it_stands(arch: str) -> None:
    saving, leaf = run_program(PROGRAMS["callee_saved"], ARCHES[arch], "keystone"), LEAF_CALL[arch]
    clobber = saving.step_at("clobber")
    assert all(holds(saving, Trait.SAVES, step) for step in (clobber, clobber + 1))
    assert not holds(leaf, Trait.SAVES, first_of(leaf, "_start"))
    agree_in_columns(saving.watched)


def test_only_behind_a_call_whose_next_instruction_runs_is_a_row_remembered() -> None:
    """In front of `_start` lies a function whose last instruction is a call."""
    run = run_program(PROGRAMS["noreturn_last_call"], ARCHES["x86_64"], "gcc-O2")
    agree_in_columns(run.watched)
    seen = {
        (holds(run, Trait.LAST_CALL, step, depth), holds(run, Trait.RETURN_RUNS, step, depth))
        for step in range(len(run))
        for depth in range(1, len(run.truth(step).frames))
    }
    assert {(True, True), (True, False), (False, True)} <= seen


@pytest.mark.parametrize("arch", ARCHES)
def test_a_function_that_stores_before_it_sets_fp_sets_it_late(arch: str) -> None:
    late = run_program(PROGRAMS["callee_saved"], ARCHES[arch], "keystone")
    soon = LEAF_CALL[arch]
    assert any(holds(late, Trait.SETS_FP_LATE, step) for step in range(len(late)))
    assert holds(late, Trait.SETS_FP_LATE, next(s for s in range(len(late)) if holds(late, Trait.FP_SET_LATE, s)))
    assert not any(holds(soon, Trait.SETS_FP_LATE, step) for step in range(len(soon)))


@pytest.mark.parametrize("arch", ARCHES)
def test_a_word_in_a_file_that_is_no_code_is_a_pointer_to_data(arch: str) -> None:
    """A coroutine's stack lies in the program's own memory."""
    run = run_program(PROGRAMS["coroutine"], ARCHES[arch], "keystone")
    found = [step for step in range(len(run)) for depth in range(3) if holds(run, Trait.DATA_POINTER, step, depth)]
    assert found
    low, high = run.watched.mapped[0]
    code = run.watched.code
    step = found[0]
    sp = int(run.trace.sp[step])
    words = [run.trace.memory(step).unsigned(sp + i * run.arch.word, run.arch.word) for i in range(8)]
    assert any(low <= word < high and not any(a <= word <= b for a, b in code) for word in words)


REPLACED = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    call middle
    pop rbp
    ret
fn middle
    push rbp
    mov rbp, rsp
    call raiser
    pop rbp
    ret
fn raiser
    push rbp
    mov rbp, rsp
    mov rdi, rbp
before:
    call install
back:
    mov [rbp], rsi
restored:
    mov [rbp+8], rdx
whole:
    pop rbp
    ret
fn install
    mov rsi, [rdi]
    mov rdx, [rdi+8]
    mov rax, [rsi]
    mov [rdi], rax
half:
    mov rax, [rsi+8]
    mov [rdi+8], rax
done:
    mov eax, 42
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl middle
    ldp x29, x30, [sp], #16
    ret
fn middle
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl raiser
    ldp x29, x30, [sp], #16
    ret
fn raiser
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    mov x1, x29
before:
    bl install
back:
    str x2, [x29]
restored:
    str x3, [x29, #8]
whole:
    ldp x29, x30, [sp], #16
    ret
fn install
    ldp x2, x3, [x1]
    ldr x4, [x2]
    str x4, [x1]
half:
    ldr x4, [x2, #8]
    str x4, [x1, #8]
done:
    mov x0, #42
    ret
""",
    "a32": """
fn main
    push {r11, lr}
    mov r11, sp
    bl middle
    pop {r11, pc}
fn middle
    push {r11, lr}
    mov r11, sp
    bl raiser
    pop {r11, pc}
fn raiser
    push {r11, lr}
    mov r11, sp
    mov r1, r11
before:
    bl install
back:
    str r2, [r11]
restored:
    str r3, [r11, #4]
whole:
    pop {r11, pc}
fn install
    ldm r1, {r2, r3}
    ldr r0, [r2]
    str r0, [r1]
half:
    ldr r0, [r2, #4]
    str r0, [r1, #4]
done:
    mov r0, #42
    bx lr
""",
}


@pytest.mark.parametrize("isa", REPLACED)
def test_a_record_is_replaced_while_it_has_what_one_further_out_has(isa: str) -> None:
    """First its FP alone, then the return address too, whoever stands where; until both are back."""
    truth = watch(isa, REPLACED[isa], "done = install, raiser, middle, main, _start")
    agree_in_columns(truth)
    seen = {
        name: [depth for depth in range(5) if Trait.RECORD_REPLACED in truth.frame_traits(step, depth)]
        for name in ("before", "half", "done", "back", "restored", "whole")
        for step in steps_at(truth, name)
    }
    assert seen == {"before": [], "half": [1], "done": [1], "back": [0], "restored": [0], "whole": []}


@pytest.mark.parametrize("arch", ARCHES)
def test_no_record_of_a_whole_run_is_replaced_where_nobody_writes_over_one(arch: str) -> None:
    for name in ("leaf_call", "pointer_reused", "alloca_vla"):
        run = run_program(PROGRAMS[name], ARCHES[arch], "clang-O2" if name == "alloca_vla" else "keystone")
        agree_in_columns(run.watched)
        assert not any(holds(run, Trait.RECORD_REPLACED, step, depth) for step in range(len(run)) for depth in range(4))


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_record_with_the_fp_of_one_further_out_is_replaced_wherever_it_returns_to(arch: str) -> None:
    """As where an exception lands: no call has that return address."""
    run = run_program(PROGRAMS["record_replaced"], ARCHES[arch], "keystone")
    agree_in_columns(run.watched)
    step = run.step_at("install_landing")
    assert [holds(run, Trait.RECORD_REPLACED, step, depth) for depth in range(5)] == [False, True, False, False, False]
    assert holds(run, Trait.RECORD_REPLACED, run.step_at("raiser_installed"))
    assert not holds(run, Trait.RECORD_REPLACED, run.step_at("raiser_installed") + 3)
