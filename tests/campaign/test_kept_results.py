"""Kept results: what did not change is not judged again, and nobody can tell from the numbers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.campaign import kept_results as results
from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Unit
from testbed.cli import main
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.native import machine_code
from testbed.trace import Snapshot
from testbed.words.code_versions import code_of
from unwinders import UNWINDERS

CHOSEN = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]]
UNIT = Unit("leaf_call", "arm64", "clang-asm")
Matrix = Callable[..., tuple[str, str]]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Unit]:
    """An empty cache, and the units that were judged in this process."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    seen = []

    def counting(unit: Unit, *arguments: object, **options: object) -> object:
        seen.append(unit)
        return judge_unit(unit, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(results, "judge_unit", counting)
    return seen


@pytest.fixture
def matrix(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Matrix:
    """Run `testbed matrix` on six units in this process: what it prints last, and its JSON."""

    def run(*options: str) -> tuple[str, str]:
        out = tmp_path / "matrix.json"
        chosen = ["-p", "leaf_call", "-r", "clang-asm*", "-r", "keystone*", "-j", "1", "--json", str(out), *options]
        monkeypatch.setattr(sys, "argv", ["testbed", "matrix", *chosen])
        main()  # returns where the status is 0
        return capsys.readouterr().out.strip().rpartition("\n")[2], out.read_text(encoding="utf-8")

    return run


def test_the_second_matrix_judges_nothing_and_writes_the_same(judged: list[Unit], matrix: Matrix) -> None:
    line, first = matrix()
    units = len(judged)
    assert units >= 6
    assert "unchanged" not in line
    line, second = matrix()
    assert len(judged) == units, "units were judged again"
    assert line.startswith(f"{units} units unchanged")
    assert second == first
    assert json.loads(first)["cells"]


def test_fresh_judges_everything_again_and_writes_the_same(judged: list[Unit], matrix: Matrix) -> None:
    _, first = matrix()
    units = len(judged)
    line, again = matrix("--fresh")
    assert len(judged) == 2 * units
    assert "unchanged" not in line
    assert again == first


def test_another_choice_of_strategies_is_another_result(judged: list[Unit], matrix: Matrix) -> None:
    _, everything = matrix()
    units = len(judged)
    _, one = matrix("-u", "fp_chain")
    assert len(judged) == 2 * units
    assert {cell["unwinder"] for cell in json.loads(one)["cells"]} == {"fp_chain"}
    assert matrix()[1] == everything
    assert len(judged) == 2 * units


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


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize("name", ["testbed", "unwinders"])
def test_edited_code_makes_a_result_void(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = keep()
    monkeypatch.setattr(results, "code_of", lambda package: f"edited {package}" if package == name else "as it was")
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None
    results.judge_and_keep(UNIT, PROGRAMS, CHOSEN)
    assert list(results.RESULTS.folder.iterdir()) == [path], "the new result replaces the old one"
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is not None


def test_the_hash_of_a_package_follows_every_file_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "made_up_strategies"
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


@pytest.mark.usefixtures("judged")
def test_another_library_makes_a_result_void(monkeypatch: pytest.MonkeyPatch) -> None:
    keep()
    monkeypatch.setattr(results, "versions_of", lambda libraries: tuple(f"{library} 99" for library in libraries))
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None


@pytest.mark.usefixtures("judged")
def test_a_damaged_result_is_judged_again() -> None:
    path = keep()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert results.kept_result(UNIT, PROGRAMS, CHOSEN) is None
    results.judge_and_keep(UNIT, PROGRAMS, CHOSEN)
    assert path.read_bytes() == whole


@pytest.mark.usefixtures("judged")
def test_what_failed_or_has_no_code_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(snapshot: Snapshot) -> Backtrace:
        raise ZeroDivisionError("a bug")

    def root(snapshot: Snapshot) -> Backtrace:
        return Backtrace((Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers),), None)

    root.__module__ = "__main__"  # as in a notebook
    for unwind in (crash, root):
        unwinder = Unwinder(name="made_up", summary="", unwind=unwind)
        assert bool(results.judge_and_keep(UNIT, PROGRAMS, [unwinder]).failed) == (unwind is crash)
        assert results.kept_result(UNIT, PROGRAMS, [unwinder]) is None
    assert results.RESULTS.usage() == (0, 0)


@pytest.mark.usefixtures("judged")
def test_the_cache_command_counts_and_clears_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path / "native"))  # the suite's own is not ours to clear
    path = keep()
    other = path.with_name("mine.txt")
    other.write_text("not a result")
    removed = r"removed 1 files, 1 results, 0 checks and 0 "
    for arguments, expected in (([], r"1 files, .*; 1 results, "), (["--clear"], removed)):
        monkeypatch.setattr(sys, "argv", ["testbed", "cache", *arguments])
        main()
        assert re.search(expected, capsys.readouterr().out)
    assert list(results.RESULTS.folder.iterdir()) == [other]


@pytest.mark.usefixtures("judged")
def test_a_strategy_of_the_same_name_from_elsewhere_is_another() -> None:
    results.judge_and_keep(UNIT, PROGRAMS, [UNWINDERS["fp_chain"]])
    mine = Unwinder(name="fp_chain", summary="", unwind=lambda at: UNWINDERS["fp_chain"].unwind(at))
    assert results.kept_result(UNIT, PROGRAMS, [mine]) is None
    assert results.kept_result(UNIT, PROGRAMS, [UNWINDERS["fp_chain"]]) is not None
