"""Progress: a line every few seconds where no bar can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.cli import progress
from testbed.cli.progress import long_work
from testbed.native import machine_code


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
