"""Output files are tried before the work; where writing fails after all, the result is still printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.cli import progress
from testbed.cli.progress import long_work
from testbed.native import machine_code
from testbed.report import plots, stepper, timeline
from tests.cli.conftest import Testbed


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("run", "leaf_call"), ("--output",)),
        (("matrix", "-p", "leaf_call"), ("--output",)),
        (("fuzz", "--write", "3"), ("--output",)),
        (("export", "leaf_call", "--at", "@0"), ("--output",)),
    ],
    ids=lambda value: value[0],
)
def test_a_file_that_cannot_be_written_is_told_before_the_work(
    testbed: Testbed, tmp_path: Path, command: tuple[str, ...], options: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe.svg")
    for option in options:
        for path in (tmp_path / "nowhere" / "x.svg", tmp_path / "pipe.svg", tmp_path / f"{'n' * 300}.svg"):
            status, out, err = testbed(*command, option, str(path))
            assert (status, out) == (2, ""), f"{command} {option} {path}"
            assert "cannot be written" in err
        assert testbed(*command, option, str(tmp_path)).status == 2


def test_what_cannot_be_written_in_the_end_loses_nothing(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plots, "plot_run", full)
    monkeypatch.setattr(stepper, "write_stepper", full)
    monkeypatch.setattr(timeline, "write_timeline", full)
    whole = testbed("run", "leaf_call")
    status, out, err = testbed(
        *("run", "leaf_call", "-o", "a.plot.svg", "-o", "a.html", "-o", "a.timeline.json"),
    )
    assert (status, out) == (2, whole.out)
    assert err.count("No space left on device") == 3


# Progress: a line every few seconds where no bar can be.


def test_off_a_terminal_there_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter(range(0, 100, 2))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    with long_work("judging", "units", 1_500) as work:
        for name in work.each("abcdefgh"):
            assert name
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"judging: {n} of 1,500 units, {2 * n + 2} s" for n in (3, 6)]


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with long_work("recording x", "steps") as work:
        work.at(70)
    assert (str(work), capsys.readouterr().err) == ("70 steps", "")


def test_the_first_work_of_all_is_told_to_wait_for_the_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path))
    for told in (True, False):
        with long_work("recording x", "steps"):
            pass
        assert ("compiling what judges" in capsys.readouterr().err) is told
        machine_code.keep(machine_code.file_of("a" * 64, "f", "1" * 64), b"code")
