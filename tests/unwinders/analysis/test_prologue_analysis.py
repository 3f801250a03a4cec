"""prologue_analysis over the corpus: how often it is exact, what it recovers, and that without symbols it says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES, recipes_for
from testbed.campaign.results import Unit
from testbed.image import LoadedImage
from testbed.runs.judging import judge_all
from testbed.runs.run import Run, run_program
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from tests.golden import STRATEGIES, of_unit
from tests.installed import installed
from unwinders import UNWINDERS
from unwinders.analysis.prologue_analysis import PROLOGUE_ANALYSIS, unwind

ISAS = [isa.name for arch in ARCHES.values() for isa in arch.isas]
PART = 5  # one of so many runs is looked at, without --everything
LEAST = 0.99  # of the sites of code without frame pointers


@cache
def runs_without_frame_pointers(isa_name: str, every: int) -> tuple[Run, ...]:
    there = tuple(_units(isa_name))[::every]
    return tuple(run_program(PROGRAMS[unit.program], ARCHES[unit.arch], unit.recipe) for unit in there)


def _units(isa_name: str) -> Iterator[Unit]:
    for arch in ARCHES.values():
        for recipe in RECIPES.values():
            isa = recipe.isa_on(arch)
            if isa is None or isa.name != isa_name or "-fomit-frame-pointer" not in recipe.flags:
                continue
            if recipe.name.startswith("outline-"):  # a function that another one calls saves its registers for it
                continue
            for program in PROGRAMS.values():
                if recipe in recipes_for(program, arch):
                    yield from installed([Unit(program.name, arch.name, recipe.name)])


@pytest.mark.parametrize("isa", ISAS)
def test_compiled_code_without_frame_pointers_is_exact(isa: str, request: pytest.FixtureRequest) -> None:
    every = 1 if request.config.getoption("--everything") else PART
    sites = 0
    for run in runs_without_frame_pointers(isa, every):
        verdicts = judge_all(run, PROLOGUE_ANALYSIS)
        sites += len(verdicts)
        assert not [verdict for verdict in verdicts if verdict.unexplained], run
    assert sites > 5000 / every
    # Of all of them, which a sample does not say: the counts that the matrix holds every cell to.
    counts = [of_unit(STRATEGIES, unit)[PROLOGUE_ANALYSIS.name] for unit in _units(isa)]
    exact = sum(each["exact"] for each in counts)
    assert exact >= LEAST * sum(each["sites"] for each in counts) > 5000 * LEAST, exact


@pytest.mark.parametrize("isa", ISAS)
def test_every_callee_saved_register_of_every_caller_is_recovered(isa: str) -> None:
    """The judge lets a register be unknown; compiled code saves what it clobbers, so none need be."""
    for run in runs_without_frame_pointers(isa, PART):
        for step in range(0, len(run), 7):
            for frame in unwind(run[step]).frames[1:]:
                assert set(run.arch.preserved) <= frame.registers.keys(), f"{run}, step {step}"


@pytest.mark.parametrize("isa", ISAS)
def test_a_stripped_file_is_an_honest_stop(isa: str) -> None:
    run = runs_without_frame_pointers(isa, PART)[0]
    snapshot = run[len(run) // 2]
    (loaded,) = snapshot.images
    stripped = LoadedImage(replace(loaded.image, symbols=()), loaded.bias)
    said = unwind(Snapshot(run.arch, snapshot.registers, snapshot.memory, (stripped,)))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert len(said.frames) == 1
    assert len(unwind(snapshot).frames) > 1


def test_outside_all_images_it_stops() -> None:
    run = runs_without_frame_pointers("x86_64", PART)[0]
    said = unwind(Snapshot(run.arch, run[9].registers, run[9].memory, ()))
    assert isinstance(said.stopped, NoUnwindInfo)


@pytest.mark.parametrize("isa", ISAS)
def test_the_rows_cover_every_executed_instruction(isa: str) -> None:
    run = runs_without_frame_pointers(isa, PART)[-1]
    assert PROLOGUE_ANALYSIS.rows is not None
    table = PROLOGUE_ANALYSIS.rows(run.built.image)
    (loaded,) = run.trace.images
    assert all(table.at(pc - loaded.bias) is not None for pc in run.trace.pc.tolist())
    assert all(a.end <= b.start for a, b in zip(table.rows, table.rows[1:], strict=False))


def test_it_is_in_the_catalogue_for_all() -> None:
    assert UNWINDERS["prologue_analysis"] is PROLOGUE_ANALYSIS
    assert PROLOGUE_ANALYSIS.arches is None
    assert not PROLOGUE_ANALYSIS.needs
