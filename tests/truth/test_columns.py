"""Traits of many frames at once, beside the readable rule of each, on runs that show nearly every one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.by_name import named_run
from testbed.runs.run import Run, run_program
from testbed.truth.columns import COLUMNS
from testbed.truth.function_facts import largest
from testbed.truth.windows import watch
from testbed.words.errors import ToolchainMissing
from testbed.words.traits import Trait
from tests.truth.pieces import agree_in_pieces
from tests.truth.watched import agree_in_columns

SHOWN = {
    "leaf_call": "keystone",
    "tail_call": "keystone",
    "longjmp": "keystone",
    "cold_split": "keystone",
    "coroutine": "keystone",
    "behind_call": "keystone",
    "two_step_call": "keystone",
    "moved_return": "keystone",
    "alloca_vla": "clang-O2",
    "noreturn_last_call": "clang-O2",
    "tail_chain": "clang-O2",
    "function_pointers": "clang-O2",
    "recursion": "clang-O2",
    "no_symbol": "clang-asm",
}
ONLY = {
    "arm64": {"pac_ret": "clang-asm", "record_replaced": "keystone"},
    "arm32": {"interworking": "clang-asm", "record_place": "keystone"},
    "x86_64": {
        "retpoline": "clang-asm",
        "pointer_back": "keystone",
        "record_below": "keystone",
        "record_replaced": "keystone",
    },
}
# Of signals there are no columns: those runs are judged step by step. No program here runs where no code is; code that
# is in no file has a test of its own, and so has a frame pointer that moves on.
NOT_SHOWN = {
    *(Trait.SIGNAL, Trait.HANDLER, Trait.INTERRUPTED, Trait.NO_CODE, Trait.UNPUSHED, Trait.IN_NO_FILE),
    *(Trait.FP_MOVED_ON, Trait.FP_MOVED_IN_PART, Trait.VECTOR_RESTORED, Trait.ALLOCATED_IN_PART),
    Trait.GIVEN_BACK_IN_PART,
}
LINK = {
    Trait.LINK_INSIDE,
    Trait.LINK_LIVE,
    Trait.LINK_OUTSIDE,
    Trait.LINK_STALE,
    Trait.RETURN_UNSAVED,
    Trait.LINK_ELSEWHERE,
}
WITHOUT = {
    "x86_64": {
        *LINK,
        Trait.APART,
        Trait.FP_AT_RETURN,
        Trait.KEPT_ELSEWHERE,
        Trait.MIXED_ISA,
        Trait.RETURN_SAVED,
        Trait.SECOND_ISA,
        Trait.SIGNED,
    },
    "arm64": {
        *(Trait.FP_AT_RETURN, Trait.FP_BACK, Trait.FP_BELOW, Trait.HAND_MADE, Trait.MIXED_ISA, Trait.SECOND_ISA),
    },
    "arm32": {
        *(Trait.APART, Trait.CODE_POINTER, Trait.FP_BACK, Trait.FP_BELOW),
        *(Trait.FP_FOR_LOCALS, Trait.HAND_MADE, Trait.RECORD_REPLACED, Trait.SIGNED),
    },
}


def shown(run: Run) -> set[Trait]:
    agree_in_columns(run.watched)
    return {trait for step in range(len(run)) for depth in (0, 1) for trait in run.watched.frame_traits(step, depth)}


@pytest.mark.parametrize("arch", ARCHES)
def test_a_column_says_what_the_rule_says(arch: str) -> None:
    runs = [run_program(PROGRAMS[name], ARCHES[arch], recipe) for name, recipe in {**SHOWN, **ONLY[arch]}.items()]
    traits = set().union(*(shown(run) for run in runs))
    assert COLUMNS.keys() - traits <= NOT_SHOWN | WITHOUT[arch]


@pytest.mark.parametrize("arch", ARCHES)
def test_code_on_the_stack_is_in_no_file(arch: str) -> None:
    """Both say so at a trampoline's instructions, and nowhere else."""
    try:
        run = run_program(PROGRAMS["trampoline"], ARCHES[arch], "gcc-O2")
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    assert Trait.IN_NO_FILE in shown(run)
    (stack,) = (region for region in run.trace.initial if region.address <= int(run.trace.sp[0]) < region.end)
    for step, pc in enumerate(run.trace.pc.tolist()):
        assert (Trait.IN_NO_FILE in run.watched.frame_traits(step, 0)) == (stack.address <= pc < stack.end)
        assert Trait.IN_NO_FILE not in run.watched.frame_traits(step, 1)


@pytest.mark.parametrize("arch", ["arm64", "arm32"])
def test_floating_point_registers_that_are_given_back(arch: str) -> None:
    """Behind the first load of one, up to the return."""
    run = run_program(PROGRAMS["callee_saved"], ARCHES[arch], "keystone")
    shown(run)
    seen = [step for step in range(len(run)) if Trait.VECTOR_RESTORED in run.watched.frame_traits(step, 0)]
    (d8,) = (run.arch.index["d8"],)
    values = run.trace.registers[:, d8]
    given_back = int((values[:-1] != values[1:]).nonzero()[0][-1]) + 1
    assert given_back in seen and given_back - 40 not in seen
    assert not any(step in seen for step in range(5))


def test_a_frame_that_two_instructions_allocate() -> None:
    """The one between them, and no push."""
    run = run_program(PROGRAMS["big_frame"], ARCHES["arm32"], "clang-O2")
    shown(run)
    sp = run.trace.sp.astype(int)
    between = [step for step in range(len(run)) if Trait.ALLOCATED_IN_PART in run.watched.frame_traits(step, 0)]
    assert between
    for step in between:
        assert sp[step + 1] < sp[step] < sp[step - 1]
        assert "sub" in run.instruction(step) and "sub" in run.instruction(step - 1)


@pytest.mark.parametrize("recipe", ["gcc-O2", "gcc-thumb-O2"])
def test_a_frame_that_two_instructions_give_back(recipe: str) -> None:
    """The one between them, and no pop."""
    try:
        run = run_program(PROGRAMS["big_frame"], ARCHES["arm32"], recipe)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    shown(run)
    sp = run.trace.sp.astype(int)
    between = [step for step in range(len(run)) if Trait.GIVEN_BACK_IN_PART in run.watched.frame_traits(step, 0)]
    assert between
    for step in between:
        assert sp[step - 1] < sp[step] < sp[step + 1]
        assert "add" in run.instruction(step) and "add" in run.instruction(step - 1)


def test_a_frame_that_is_there_in_part() -> None:
    """Of a function: wherever something is on its stack, and less than elsewhere in it."""
    run = run_program(PROGRAMS["big_frame"], ARCHES["arm32"], "clang-O2")
    shown(run)
    held = [truth_sp - int(sp) for truth_sp, sp in zip(entry_sps(run), run.trace.sp, strict=True)]
    functions = [run.watched.function(int(pc)) for pc in run.trace.pc]
    most = {each: max(h for h, f in zip(held, functions, strict=True) if f == each) for each in set(functions)}
    expected = [0 < h < most[f] for h, f in zip(held, functions, strict=True)]
    seen = [Trait.FRAME_IN_PART in run.watched.frame_traits(step, 0) for step in range(len(run))]
    assert seen == expected and any(seen) and not all(seen)


@pytest.mark.parametrize("native_from", [0, 1000], ids=["compiled", "readable"])
def test_a_frame_in_part_is_so_in_pieces_too(native_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest frame of a function is known at its end: in the first piece there is none yet, in others a part."""
    monkeypatch.setattr(watch, "NATIVE_FROM", native_from)
    run = run_program(PROGRAMS["frame_in_part"], ARCHES["arm32"], "keystone")
    for length in (4, 7, 64):
        known = agree_in_pieces(run.watched, length)
        assert np.array_equal(known.frame_sizes, run.watched.frame_sizes)
    twice = run_program(PROGRAMS["conditional_return"], ARCHES["arm32"], "keystone")  # an instruction with two frames
    assert np.array_equal(agree_in_pieces(twice.watched, 4).frame_sizes, twice.watched.frame_sizes)
    in_part = [step for step in range(len(run)) if Trait.FRAME_IN_PART in run.watched.frame_traits(step, 0)]
    assert 20 < len(in_part) < len(run) // 2


def test_the_largest_size_of_an_instruction_counts() -> None:
    sizes = np.array([[5, 1], [5, 3], [4, 9], [5, 2]], np.uint64)
    assert largest(sizes).tolist() == [[4, 9], [5, 3]]
    assert largest(sizes[:0]).tolist() == []


def entry_sps(run: Run) -> list[int]:
    return [run.watched.activations[int(node)].entry_sp for node in run.watched.node]


def test_an_instruction_whose_condition_failed_has_no_effect() -> None:
    """Behind the conditional move of SP: with an effect where it was carried out, without where it was not."""
    run = run_program(PROGRAMS["conditional_return"], ARCHES["arm32"], "keystone")
    shown(run)
    returns = [step for step in range(len(run)) if run.instruction(step).startswith("popne")]
    effects = [Trait.WITHOUT_EFFECT not in run.watched.frame_traits(step, 0) for step in returns]
    moved = [int(run.trace.sp[step - 1]) != int(run.trace.sp[step]) for step in returns]
    assert effects == moved and set(moved) == {True, False}


@pytest.mark.parametrize("source", sorted((Path(__file__).parent / "declared").glob("*.S")), ids=lambda path: path.stem)
def test_it_does_where_control_goes_unusual_ways(source: Path) -> None:
    run = named_run({}, str(source), None, None, seed=1, budget=10_000, fresh=False)
    if run.trace.sizes.all():  # no signal arrives
        assert shown(run)
