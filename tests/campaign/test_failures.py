"""What goes wrong with a unit is that unit's result; everything else is judged as ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.campaign import kept_results, units
from testbed.campaign.fuzz import failures
from testbed.campaign.matrix import judge_unit, judge_units
from testbed.campaign.results import Unit, UnitResult
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.trace import Snapshot
from unwinders import UNWINDERS

UNIT = Unit("leaf_call", "arm64", "clang-asm")


def crash(snapshot: Snapshot) -> Backtrace:
    raise ZeroDivisionError("a bug")


def root(snapshot: Snapshot) -> Backtrace:
    return Backtrace((Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers),), None)


CRASHING, LYING = (Unwinder(name=f.__name__, summary="", unwind=f) for f in (crash, root))


def test_a_strategy_that_crashes_costs_the_others_nothing() -> None:
    sound = UNWINDERS["eh_frame"]
    alone = judge_unit(UNIT, PROGRAMS, [sound])
    result = judge_unit(UNIT, PROGRAMS, [CRASHING, sound, CRASHING])
    assert result.cells == alone.cells
    assert (result.steps, result.tools) == (alone.steps, alone.tools)
    assert result.failed.count("crash crashed") == 2
    assert "ZeroDivisionError: a bug" in result.failed


def test_both_a_crash_and_an_unexplained_site_are_failures_of_a_case() -> None:
    found = failures(judge_unit(UNIT, PROGRAMS, [CRASHING, LYING]))
    assert [each.unwinder for each in found] == ["", "root"]


def test_a_unit_whose_declared_frames_were_not_watched_is_a_failed_one() -> None:
    program = PROGRAMS["leaf_call"]
    source = program.sources["arm64"]
    frames = tuple(replace(each, frames=each.frames[1:]) for each in source.header.frames)
    wrong = replace(source, header=replace(source.header, frames=frames))
    programs = {"leaf_call": replace(program, sources={**program.sources, "arm64": wrong})}
    result = judge_unit(UNIT, programs, [UNWINDERS["eh_frame"]])
    assert result.cells == ()
    assert "the header declares other frames than were watched" in result.failed
    assert f"{source.path}:" in result.failed


@pytest.mark.parametrize("stage", ["build", "run_built"])
def test_any_exception_on_the_way_to_a_run_is_the_result_of_its_unit(
    monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Building, recording and observing, in this order; the second and the third are one call."""
    original = getattr(units, stage)

    def broken(what: object, *arguments: object, **options: object) -> object:
        if "mutual_recursion" in str(what):
            raise ZeroDivisionError("a bug")
        return original(what, *arguments, **options)

    monkeypatch.setattr(units, stage, broken)
    planned = [UNIT, Unit("mutual_recursion", "x86_64", "clang-O2"), UNIT]
    first, second, third = judge_units(planned, judged, jobs=1)
    assert "ZeroDivisionError: a bug" in second.failed and not second.cells
    assert first.cells and first == third and not first.failed


def judged(unit: Unit) -> UnitResult:
    return judge_unit(unit, PROGRAMS, [UNWINDERS["fp_chain"]])


def test_a_look_for_kept_results_leaves_the_telling_to_judging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    chosen = [UNWINDERS["fp_chain"]]
    kept_results.judge_and_keep(UNIT, PROGRAMS, chosen)
    assert kept_results.kept_result(UNIT, PROGRAMS, chosen) is not None

    def broken(*arguments: object, **options: object) -> object:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(units, "build", broken)
    assert kept_results.kept_result(UNIT, PROGRAMS, chosen) is None
    assert judge_unit(UNIT, PROGRAMS, chosen).failed
