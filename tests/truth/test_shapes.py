"""Programs whose calls and returns only hindsight understands, with right tables: truth, tables and lint agree.

A call in two instructions, data behind a call, a function that moves its return address into its caller's frame.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.runs.by_name import named_run
from testbed.runs.judging import judge_all
from testbed.runs.run import Run
from testbed.words.traits import Trait
from tests.checks.watched_tables import linted
from unwinders import UNWINDERS

ISAS = ("x86_64", "arm64", "a32", "thumb")
NAMES = ("behind_call", "moved_return", "right_behind", "two_step_call")
SHAPES = [PROGRAMS[name].sources[isa].path for name in NAMES for isa in ISAS]
BY_NAME = pytest.mark.parametrize("source", SHAPES, ids=lambda path: path.name.removesuffix(".S"))
TABLES = ("eh_frame", "debug_frame")


@cache
def run_of(source: Path) -> Run:
    run = named_run({}, str(source), None, None, seed=1, budget=10_000, fresh=False)
    assert run.failure == ""
    return run


def test_each_shape_is_there_on_every_instruction_set() -> None:
    shapes = {path.name.split(".")[0] for path in SHAPES}
    assert {path.name for path in SHAPES} == {f"{s}.{i}.S" for s in shapes for i in ISAS}


@BY_NAME
def test_the_declared_frames_are_the_watched_ones(source: Path) -> None:
    run = run_of(source)
    assert run.built.source.header.frames
    assert run.disagreements == ()
    assert run.watched.transition.tolist() == run.watched.undecided.tolist()
    assert run.watched.undecided.any() == is_undecided(source)


def is_undecided(source: Path) -> bool:
    """Nothing tells a return to right behind a call from a jump to a function there that never returns."""
    return source.name.startswith("right_behind") and "x86_64" not in source.name


@BY_NAME
def test_right_rows_are_found_right(source: Path) -> None:
    """The CFA of a row is held against SP before the call, wherever SP is after the return."""
    run = run_of(source)
    tables = [UNWINDERS[name] for name in TABLES if UNWINDERS[name].applies_to(run.built.image)]
    assert tables
    for unwinder in tables:
        assert linted(run, unwinder.name).findings == ()


@BY_NAME
@pytest.mark.parametrize("natively", [False, True])
def test_a_right_table_is_exact_at_every_instruction(source: Path, natively: bool) -> None:
    run = run_of(source)
    for name in TABLES:
        if UNWINDERS[name].applies_to(run.built.image):
            verdicts = judge_all(run, UNWINDERS[name], natively=natively)
            wrong = [(run.where(int(run.trace.pc[k])), str(v)) for k, v in enumerate(verdicts) if not v.exact]
            assert wrong == [] or (is_undecided(source) and all(v.exact or v.transition for v in verdicts))


@pytest.mark.parametrize("isa", ISAS)
def test_a_changed_return_address_may_be_said_before_or_after_the_change_and_nothing_else(isa: str) -> None:
    run = run_of(PROGRAMS["behind_call"].sources[isa].path)
    for place in ("take", "take_return"):
        caller = run.truth(run.step_at(place)).frames[1]
        assert caller.goes_on is not None
        assert caller.is_at(caller.pc)
        assert caller.is_at(caller.goes_on)
        assert not caller.is_at(caller.goes_on + 1)
        assert not caller.is_at(caller.pc - 1)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("natively", [False, True])
def test_instructions_say_where_a_call_in_two_of_them_comes_back_to(isa: str, natively: bool) -> None:
    run = run_of(PROGRAMS["two_step_call"].sources[isa].path)
    verdicts = judge_all(run, UNWINDERS["prologue_analysis"], natively=natively)
    assert [(run.where(int(run.trace.pc[k])), str(v)) for k, v in enumerate(verdicts) if not v.exact] == []


@pytest.mark.parametrize("isa", ISAS)
def test_no_call_put_the_return_address_of_a_call_in_two_instructions_on_the_stack(isa: str) -> None:
    run = run_of(PROGRAMS["two_step_call"].sources[isa].path)
    made = [
        run.where(run[k].pc).split("+")[0] for k in range(len(run)) if Trait.HAND_MADE in run.watched.frame_traits(k, 0)
    ]
    assert set(made) == ({"helper"} if run.arch.link is None else set())


@pytest.mark.parametrize("isa", ISAS)
def test_a_call_by_hand_is_told_from_one_by_an_instruction(isa: str) -> None:
    """At any depth. What a tail call leads to was called by an instruction all the same."""
    run = run_of(PROGRAMS["made_caller"].sources[isa].path)
    made = set()
    for step in range(len(run)):
        for depth, frame in enumerate(run.truth(step).frames):
            if Trait.HAND_MADE in run.watched.frame_traits(step, depth):
                made.add(run.where(frame.lookup_pc).split("+")[0])
    assert made == {"main"}
