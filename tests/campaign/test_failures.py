"""Jobs that fail, die or are interrupted, and results that are kept."""

import json
import multiprocessing.context
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from programs import PROGRAMS
from testbed.campaign import cells
from testbed.campaign import kept_results as results
from testbed.campaign.cells import Unit, UnitResult
from testbed.campaign.fuzz import failures
from testbed.campaign.matrix import judge_unit, judge_units
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.native import machine_code
from testbed.trace import Snapshot
from testbed.words.errors import TestbedError
from testbed.words.files import code_of
from tests.cli.command import Testbed
from unwinders import UNWINDERS

UNIT = Unit("leaf_call", "arm64", "clang-asm")


def crash(snapshot: Snapshot) -> Backtrace:
    raise ZeroDivisionError("a bug")


def root(snapshot: Snapshot) -> Backtrace:
    return Backtrace((Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers),), None)


CRASHING, LYING = (Unwinder(name=f.__name__, summary="", unwind=f) for f in (crash, root))


def test_an_unwinder_that_crashes_costs_the_others_nothing() -> None:
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
    original = getattr(cells, stage)

    def sometimes(what: object, *arguments: object, **options: object) -> object:
        return (broken if "mutual_recursion" in str(what) else original)(what, *arguments, **options)

    monkeypatch.setattr(cells, stage, sometimes)
    planned = [UNIT, Unit("mutual_recursion", "x86_64", "clang-O2"), UNIT]
    first, second, third = judge_units(planned, judged, jobs=1)
    assert "ZeroDivisionError: a bug" in second.failed and not second.cells
    assert first.cells and first == third and not first.failed


def judged(unit: Unit) -> UnitResult:
    return judge_unit(unit, PROGRAMS, [UNWINDERS["fp_chain"]])


def broken(*arguments: object, **options: object) -> object:
    raise ZeroDivisionError("a bug")


@pytest.mark.usefixtures("own_cache")
def test_a_look_for_kept_results_leaves_the_telling_to_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    results.judge_and_keep(UNIT, PROGRAMS, CHOSEN)
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is not None
    monkeypatch.setattr(cells, "build", broken)
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None
    assert judge_unit(UNIT, PROGRAMS, CHOSEN).failed


# Kept results: what did not change is not judged again, and nobody can tell from the numbers.


CHOSEN = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]]


@pytest.fixture
def judged_units(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[Unit]:
    """An empty cache, and the units that were judged in this process."""
    seen = []

    def counting(unit: Unit, *arguments: object, **options: object) -> object:
        seen.append(unit)
        return judge_unit(unit, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(results, "judge_unit", counting)
    return seen


def test_a_matrix_judges_what_is_new_or_asked_for_and_writes_the_same(
    judged_units: list[Unit], testbed: Testbed, tmp_path: Path
) -> None:
    out = tmp_path / "matrix.json"
    matrix = ("matrix", "-p", "leaf_call", "-r", "clang-asm*", "-r", "keystone*", "-j", "1", "-o", str(out))
    assert testbed(*matrix).status == 0
    units, first = len(judged_units), out.read_text(encoding="utf-8")
    assert units >= 6 and json.loads(first)["cells"]
    for options, judged_now, unchanged in (
        ((), 0, True),
        (("--fresh",), units, False),
        (("-u", "fp_chain"), units, False),  # another choice of unwinders is another result
        ((), 0, True),
    ):
        before = len(judged_units)
        said, written = testbed(*matrix, *options), out.read_text(encoding="utf-8")
        line = said.out.strip().rpartition("\n")[2]
        assert len(judged_units) - before == judged_now, options
        assert line.startswith(f"{units} units unchanged") == unchanged == ("unchanged" in line)
        assert written == first or {cell["unwinder"] for cell in json.loads(written)["cells"]} == {"fp_chain"}
        assert written == first or "-u" in options


def keep() -> Path:
    """Judge a unit, keep it, and say in which file."""
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None
    results.judge_and_keep(UNIT, PROGRAMS, CHOSEN)
    kept = results.kept_result(UNIT, PROGRAMS, CHOSEN)
    assert kept is not None and kept.kept
    assert kept == judge_unit(UNIT, PROGRAMS, CHOSEN)
    assert any(cell.first for cell in kept.cells), "no difference was kept: the comparison says little"
    (path,) = results.RESULTS.folder.iterdir()
    return path


@pytest.mark.usefixtures("judged_units")
@pytest.mark.parametrize(
    ("what", "instead"),
    [
        *(("code_of", {package: "edited"}) for package in ("testbed", "unwinders")),
        ("versions_of", {}),  # another library
    ],
)
def test_edited_code_and_another_library_make_a_result_void(
    monkeypatch: pytest.MonkeyPatch, what: str, instead: dict[str, str]
) -> None:
    path = keep()
    monkeypatch.setattr(results, what, lambda of: instead.get(str(of), f"{of} as it is now"))
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None
    results.judge_and_keep(UNIT, PROGRAMS, CHOSEN)
    assert list(results.RESULTS.folder.iterdir()) == [path], "the new result replaces the old one"
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is not None


def test_the_hash_of_a_package_follows_every_file_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "made_up_unwinders"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "one.py", "inner/two.py"):
        (package / name).write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, package.name, __import__(package.name))
    before = code_of.__wrapped__(package.name)
    assert before == code_of.__wrapped__(package.name) != ""
    (package / "inner" / "two.py").write_text("VALUE = 2\n")
    assert code_of.__wrapped__(package.name) != before
    assert code_of("__main__") == code_of("no_such_package") == ""


@pytest.mark.usefixtures("judged_units")
def test_what_failed_or_has_no_code_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "__module__", "__main__")  # as in a notebook
    for unwinder in (CRASHING, LYING):
        assert bool(results.judge_and_keep(UNIT, PROGRAMS, [unwinder]).failed) == (unwinder is CRASHING)
        assert results.kept_result(UNIT, PROGRAMS, [unwinder]) is None
    assert results.RESULTS.usage() == (0, 0)


@pytest.mark.usefixtures("judged_units")
def test_the_cache_command_counts_and_clears_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, testbed: Testbed
) -> None:
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path / "native"))  # the suite's own is not ours to clear
    path = keep()
    other = path.with_name("mine.txt")
    other.write_text("not a result")
    removed = r"removed 1 built file, 1 result, 0 checks, 0 compiled functions and 0 "
    for arguments, expected in (([], r"1 built file, .*\n +1 result, "), (["--clear"], removed)):
        assert re.search(expected, testbed("list", "cache", *arguments).out)
    assert list(results.RESULTS.folder.iterdir()) == [other]


@pytest.mark.usefixtures("judged_units")
def test_an_unwinder_of_the_same_name_from_elsewhere_is_another() -> None:
    results.judge_and_keep(UNIT, PROGRAMS, [UNWINDERS["fp_chain"]])
    mine = Unwinder(name="fp_chain", summary="", unwind=lambda at: UNWINDERS["fp_chain"].unwind(at))
    assert results.kept_result(UNIT, PROGRAMS, [mine]) is None
    assert results.kept_result(UNIT, PROGRAMS, [UNWINDERS["fp_chain"]]) is not None


# A worker that is killed costs no result; no semaphores are needed.


@pytest.fixture(params=["a pool", "no semaphores"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With semaphores; and one without /dev/shm, which has none."""

    def without_semaphores(*unused: Any, **named: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    if request.param == "no semaphores":
        monkeypatch.setattr(multiprocessing.context.BaseContext, "Lock", without_semaphores)


@pytest.mark.usefixtures("machine")
def test_every_job_has_its_result() -> None:
    assert sorted(judge_units(range(6), lambda job: job * job, jobs=2)) == [0, 1, 4, 9, 16, 25]
    with pytest.raises(ZeroDivisionError):
        list(judge_units(range(3), lambda job: 1 // (job - 1), jobs=2))


@pytest.mark.usefixtures("machine")
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    def work(job: int) -> int:
        if job == 2 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    assert sorted(judge_units(range(6), work, jobs=2)) == [*range(6)]
    assert (tmp_path / "killed").exists()


def dies_of_two(job: int) -> str:
    if job == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(job)


@pytest.mark.usefixtures("machine")
def test_a_job_that_kills_its_worker_each_time_costs_its_own_result() -> None:
    found = list(judge_units(range(6), dies_of_two, jobs=2, died=lambda job: f"{job} died"))
    assert sorted(text[:1] for text in found) == [*"012345"]
    assert [text for text in found if len(text) > 1] == ["2 died"]
    judging = judge_units(range(6), dies_of_two, jobs=2)
    assert sorted(next(judging) for _ in range(5)) == [*"01345"]
    with pytest.raises(TestbedError, match=r"^2: the process"):
        next(judging)
