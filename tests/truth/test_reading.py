"""What the truth reads of a trace, at addresses that few programs use, and as Python and compiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.units import build_unit, units
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.native.compiled import native
from testbed.runs.run import run_program
from testbed.truth import observe
from testbed.truth.departures import NO_FUNCTION, find_departures
from testbed.truth.native.sites import settle
from testbed.truth.path import path_of
from testbed.truth.regions import StackRegions
from testbed.truth.sites import _extent, _settled
from testbed.truth.transitions import is_targets
from tests.installed import installed
from tests.machine.snippets import image_of
from tests.truth.watched import agree

UNDECIDED = {"right_behind"}  # the programs with undecided steps: this list may only shrink
UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


def test_a_frame_pointer_at_the_lowest_word_of_the_frame_further_out_is_its_own() -> None:
    trace = record(image_of("arm64", "fn main\n    mov x0, #42\n    ret\n"), budget=100)
    regions, entry = StackRegions(trace), int(trace.sp[0]) - 64
    assert is_targets(regions, entry, entry, entry)
    assert is_targets(regions, entry + 8, entry, entry)
    assert not is_targets(regions, entry - 8, entry - 16, entry), "it still points into the frame that is left"


def test_functions_are_told_by_where_they_were_loaded() -> None:
    run = run_program(PROGRAMS["tail_call"], ARCHES["x86_64"], "keystone")
    bias = 0x10_0000
    column = run.arch.index[run.arch.pc]
    registers = np.asarray(run.trace.registers).copy()
    registers[:, column] += np.uint64(bias)
    moved = replace(
        run.trace, images=tuple(LoadedImage(each.image, bias) for each in run.trace.images), registers=registers
    )
    here = [int(entry) for entry in find_departures(observe(run.trace)).entry]
    assert NO_FUNCTION not in here and len(set(here)) > 3
    assert [int(entry) for entry in find_departures(observe(moved)).entry] == [entry + bias for entry in here]


def test_code_is_as_long_as_its_segment_wherever_that_begins() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    (loaded,) = run.trace.images
    (segment,) = (each for each in loaded.image.segments if each.executable)
    longer = replace(segment, address=0x1000, data=bytes(0x1800), size=0x1800)
    watched = replace(
        run.watched, trace=replace(run.trace, images=(LoadedImage(replace(loaded.image, segments=(longer,))),))
    )
    assert watched.code == ((0x1000, 0x2800),)


@pytest.mark.parametrize("arch", ARCHES)
def test_short_and_long_traces_are_read_alike_on_every_program(arch: str) -> None:
    units_here = [unit for unit in installed(UNITS) if unit.arch == arch][::7]
    assert units_here
    traces = {unit: record(build_unit(unit, PROGRAMS).image) for unit in units_here}
    assert sum(map(agree, traces.values())) > 3 * len(units_here)
    assert {unit.program for unit, trace in traces.items() if path_of(trace).undecided.any()} <= UNDECIDED


def test_the_settled_pair_is_the_same_where_pairs_are_equally_frequent() -> None:
    rng = np.random.default_rng(1)
    for count in range(1, 60):
        segment = np.sort(rng.integers(0, 1 + count // 6, count))
        segment = np.cumsum(np.diff(segment, prepend=segment[0]) != 0)  # numbered without gaps
        sp, pointer = (rng.integers(0, 3, count).astype(np.uint64) for _ in range(2))
        kind = np.where(pointer != 0, 2, sp != 0).astype(np.int8)
        starts = np.flatnonzero(np.diff(segment, prepend=-1))
        first, last = _extent(_settled(segment, sp, pointer, kind), segment, starts)
        order = rng.permutation(count)
        by_order = np.argsort(order)  # the steps lie in another order than that by activation
        out = tuple(np.zeros(count, np.bool_) for _ in range(3))
        away = ((pointer != 0)[by_order], (sp != 0)[by_order])
        native(settle)(starts, order, (sp[by_order], pointer[by_order]), away, out)
        place = np.arange(count)
        still = np.logical_and.reduceat(pointer == 0, starts)[segment]
        for found, right in zip(out, (place < first[segment], place > last[segment], still), strict=True):
            assert found[order].tolist() == right.tolist(), count
