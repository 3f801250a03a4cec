"""Programs whose calls and returns only hindsight understands, with right tables: truth, tables and lint agree.

A call in two instructions, data behind a call, a function that moves its return address into its caller's frame.
"""

import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import testbed
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import build_unit
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.runs.by_name import named_run
from testbed.runs.run import Run, judge_all, run_program
from testbed.trace import Exited, Trace
from testbed.truth import Truth, observe
from testbed.truth.events import code_of
from testbed.truth.frame_sites import ancestors, frame_site, frame_sites, heights
from testbed.truth.model import Activations
from testbed.truth.native.near import NEAR
from testbed.truth.path import path_of
from testbed.truth.phases import PHASES, Phase, phases
from testbed.truth.transitions import is_targets
from testbed.truth.watched import NO_FUNCTION
from testbed.words.traits import Trait
from tests.checks.watched_tables import linted
from tests.corpus import UNITS, installed
from tests.machine.snippets import image_of
from tests.truth.watched import agree, labels_where
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
        near, far = (replace(caller, goes_on=caller.pc + NEAR + more) for more in (0, 1))
        assert near.is_at(caller.pc + 1) and not far.is_at(caller.pc + 1)


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


# Frames far out: the same as climbing one by one, in a time that grows as the trace does, not with its square.


class _Pcs:
    """All that is asked of a trace."""

    def __init__(self, count: int) -> None:
        self.pc = np.arange(count, dtype=np.uint64) * 4


def _activations(parent: np.ndarray[Any, Any]) -> Activations:
    numbers = np.arange(len(parent))
    words = [(numbers * factor).astype(np.uint64) for factor in (3, 5, 7, 11)]
    return Activations(parent.astype(np.int32), words[0], words[1], words[2], numbers * 2, words[3], parent < -1)


@pytest.mark.parametrize("seed", range(6))
def test_frames_far_out_are_those_that_one_finds_one_by_one(seed: int) -> None:
    chance = np.random.default_rng(seed)
    parent = np.array([-1] + [int(chance.integers(max(0, i - 3), i)) for i in range(1, 900)])
    parent[chance.integers(0, 900, 2)] = -1  # other stacks
    activations, count = _activations(parent), 400
    trace = cast(Trace, _Pcs(count))
    node = chance.integers(0, 900, count).astype(np.int32)
    steps = np.arange(count)
    depths = chance.integers(0, 700, count)
    found = frame_sites(trace, activations, node, steps, depths)
    columns = (found.step, found.depth, found.node, found.own, found.pc)
    for step, each in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        assert each == frame_site(trace, activations, node, step, int(depths[step]))
    assert (found.depth > 130).sum() > 50


def test_ancestors_and_heights_of_one_chain() -> None:
    parent = np.arange(-1, 999, dtype=np.int32)
    assert heights(parent).tolist() == list(range(1000))
    nodes = np.full(1000, 999, np.int32)
    assert ancestors(parent, nodes, np.arange(1000)).tolist() == list(range(999, -1, -1))


def test_endless_recursion_takes_no_time_without_end() -> None:
    """A stack of 200,000 frames, and as many steps: one by one, 20,000,000,000 climbs."""
    count = 200_000
    activations = _activations(np.arange(-1, count - 1))
    begin = time.process_time()
    steps = np.arange(count)
    found = frame_sites(cast(Trace, _Pcs(count)), activations, steps.astype(np.int32), steps, steps)
    assert found.node.tolist() == [0] * count and found.depth.tolist() == steps.tolist()
    assert time.process_time() - begin < 10


# The phases of steps: each by its definition, at instructions that are known by their place in the source.


def test_a_leaf_passes_through_entry_prologue_body_and_epilogue() -> None:
    run = testbed.run("leaf_call", arch="arm64", recipe="keystone")
    said = [PHASES[phases(run.watched)[run.step_at(at)]] for at in ("leaf", "leaf+0x4", "leaf+0x8", "leaf+0x14")]
    assert said == [Phase.ENTRY, Phase.PROLOGUE, Phase.BODY, Phase.EPILOGUE]


def test_every_call_and_only_a_call_is_followed_by_an_entry() -> None:
    """However it is made: by two instructions, too. An activation that begins with a call is at its entry first."""
    for program, arch in (("leaf_call", "x86_64"), ("two_step_call", "x86_64"), ("two_step_call", "arm64")):
        run = testbed.run(program, arch=arch, recipe="keystone")
        column = [PHASES[i] for i in phases(run.watched).tolist()]
        entered = [step for step, phase in enumerate(column) if phase is Phase.ENTRY and step]
        assert entered
        assert [step - 1 for step in entered] == [step for step, phase in enumerate(column) if phase is Phase.CALL]


def test_a_signal_that_arrives_is_no_call() -> None:
    run = testbed.run("signal", arch="x86_64", recipe="keystone")
    column = phases(run.watched)
    arrived = [step for step in range(len(run)) if run.trace.interrupted(step)]
    assert len(arrived) == 4  # at the entry, in the prologue, the body and the epilogue of one function
    said = [PHASES[int(column[step])] for step in arrived]
    assert said == [Phase.ENTRY, Phase.PROLOGUE, Phase.BODY, Phase.EPILOGUE]
    assert all(PHASES[int(column[step + 1])] is Phase.ENTRY for step in arrived)  # of the handler


# Where a return address is kept signed is seen from the link register, and the rest of the truth takes no notice.


RECURSIVE = """
.arch armv8.3-a
fn main
    paciasp
main_signed:
    stp x29, x30, [sp, #-16]!
    mov w0, #2
    bl count
    mov w0, #42
    ldp x29, x30, [sp], #16
    autiasp
main_plain:
    ret
fn count
    cbz w0, count_base
    pacibsp
count_signed:
    stp x29, x30, [sp, #-16]!
    sub w0, w0, #1
    bl count
count_back:
    nop
    ldp x29, x30, [sp], #16
    retab
count_base:
    ret
"""


def watched(body: str, cpu: str | None = "signing") -> Truth:
    trace = record(image_of("arm64", body), cpu=cpu)
    assert trace.end == Exited(42), trace.end
    agree(trace)
    return observe(trace)


def test_an_address_is_signed_from_its_signing_to_its_authentication() -> None:
    truth = watched(RECURSIVE)
    names = labels_where(truth, truth.signed)
    assert {"main_signed", "main_signed+0xc", "main_signed+0x14", "count_signed"} <= names
    assert not names & {"_start", "main", "main_plain", "count", "count+0x4", "count_base"}


def test_a_stale_link_register_that_holds_the_same_address_takes_no_signature_off() -> None:
    """The second activation comes back to where the first one will: the register holds that address unsigned."""
    truth = watched(RECURSIVE)
    assert {"count_back", "count_back+0x4"} <= labels_where(truth, truth.signed)
    assert "count_back" not in labels_where(truth, ~truth.signed)


def test_the_word_holds_for_all_frames_above() -> None:
    truth = watched(RECURSIVE)
    steps = np.arange(len(truth.trace))
    here = [Trait.SIGNED in truth.traits(step) for step in steps.tolist()]
    assert "count_base" in labels_where(truth, np.array(here)), "main and two others below it are signed"
    assert labels_where(truth, ~np.array(here)) == {
        *("_start", "_start+0x4", "_start+0x8", "_start+0xc", "_start+0x10"),
        *("main", "main_plain"),
    }


def test_on_the_usual_core_nothing_is_signed_and_the_frames_are_the_same() -> None:
    body = RECURSIVE.replace("retab", "autibsp\n    ret")
    signed, plain = watched(body), watched(body, cpu=None)
    assert not plain.signed.any()
    assert [signed.stack(step).pcs for step in range(len(signed.trace))] == [
        plain.stack(step).pcs for step in range(len(plain.trace))
    ]


def test_a_signed_link_register_is_live() -> None:
    truth = watched(RECURSIVE)
    step = int(np.flatnonzero(truth.signed)[0])
    assert Trait.LINK_LIVE in truth.traits(step)
    assert Trait.LINK_STALE not in truth.traits(step)


# What the truth reads of a trace, at addresses that few programs use, and as Python and compiled.


UNDECIDED = {"right_behind"}  # the programs with undecided steps: this list may only shrink


def test_a_frame_pointer_at_the_lowest_word_of_the_frame_further_out_is_its_own() -> None:
    trace = record(image_of("arm64", "fn main\n    mov x0, #42\n    ret\n"), budget=100)
    regions, entry = sorted((each.address, each.end) for each in trace.initial), int(trace.sp[0]) - 64
    assert is_targets(regions, entry, entry, entry)
    assert is_targets(regions, entry + 8, entry, entry)
    assert not is_targets(regions, entry - 8, entry - 16, entry), "it still points into the frame that is left"


@pytest.mark.parametrize("place", [0x10_0000, 0])
def test_functions_are_told_by_where_they_were_loaded(place: int) -> None:
    run = run_program(PROGRAMS["tail_call"], ARCHES["x86_64"], "keystone")
    here = run.watched.functions.tolist()
    bias = place - min(here)
    column = run.arch.index[run.arch.pc]
    registers = np.asarray(run.trace.registers).copy()
    registers[:, column] += np.uint64(bias & run.arch.word_mask)
    code = tuple(segment for segment in run.loaded.image.segments if segment.executable)
    images = (LoadedImage(replace(run.loaded.image, segments=code), bias),)
    moved = replace(run.trace, images=images, registers=registers)
    there = replace(run.watched, trace=moved).functions.tolist()
    assert there == [entry + bias for entry in here] and NO_FUNCTION not in here + there and len(set(here)) > 3


def test_code_is_as_long_as_its_segment_wherever_that_begins() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    (loaded,) = run.trace.images
    (segment,) = (each for each in loaded.image.segments if each.executable)
    longer = replace(segment, address=0x1000, held=bytes(0x1800), size=0x1800)
    watched = replace(
        run.watched, trace=replace(run.trace, images=(LoadedImage(replace(loaded.image, segments=(longer,))),))
    )
    assert code_of(watched.trace) == [(0x1000, 0x2800)]


@pytest.mark.parametrize("arch", ARCHES)
def test_short_and_long_traces_are_read_alike_on_every_program(arch: str) -> None:
    units_here = [unit for unit in installed(UNITS) if unit.arch == arch][::7]
    assert units_here
    traces = {unit: record(build_unit(unit, PROGRAMS).image) for unit in units_here}
    assert sum(map(agree, traces.values())) > 3 * len(units_here)
    assert {unit.program for unit, trace in traces.items() if path_of(trace).undecided.any()} <= UNDECIDED
