"""Runs in pieces: they are counted and shown as whole ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Testbed


def summary(out: str) -> list[list[str]]:
    """The lines of the table of strategies, as words."""
    return [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]


def test_a_run_in_pieces_counts_what_the_whole_run_counts(testbed: Testbed, tmp_path: Path) -> None:
    whole = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*")
    pieces = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*", "--chunk", "50")
    assert pieces.status == whole.status == 0 and "pieces" in pieces.out
    assert summary(pieces.out) == summary(whole.out) != []
    recorded = testbed("record", "recursion", "--arch", "arm64", "--chunk", "50", "-o", str(tmp_path / "pieces"))
    assert recorded.status == 0 and "in pieces, exit" in recorded.out
    for more in ((), ("--chunk", "50")):
        again = testbed("run", "--trace", str(tmp_path / "pieces"), "-u", "*fp*", "-u", "eh*", *more)
        assert again.status == 0 and summary(again.out) == summary(whole.out)
    slow = testbed("run", "leaf_call", "--arch", "arm64", "--chunk", "8")
    assert "stack_scan" in slow.err and "stack_scan" not in slow.out


def test_one_site_of_a_run_in_pieces_is_shown_as_of_the_whole(testbed: Testbed) -> None:
    for location in ("@17", "leaf+0x4", "middle#1"):
        said = [
            testbed("run", "leaf_call", "--arch", "arm64", "--at", location, *more) for more in ((), ("--chunk", "8"))
        ]
        assert said[0].status == said[1].status == 0
        assert said[0].out == said[1].out


def test_a_long_run_is_taken_in_pieces_by_itself(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from testbed.cli import long_runs

    monkeypatch.setattr(long_runs, "WHOLE", 100)
    monkeypatch.setattr("testbed.cli.run.WHOLE", 100)
    said = testbed("run", "recursion", "--arch", "arm64", "-u", "eh_frame")
    assert said.status == 0 and "in 1 pieces" in said.out
    recorded = testbed("record", "recursion", "--arch", "arm64", "-o", str(tmp_path / "long"))
    assert recorded.status == 0 and "in pieces, exit" in recorded.out
    assert testbed("run", "--trace", str(tmp_path / "long"), "-u", "eh_frame").out == said.out
    held = testbed("run", "recursion", "--arch", "arm64", "--json")
    assert held.status == 2 and "--json shows every step" in held.err
    whole = testbed("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame")
    assert whole.status == 0 and "pieces" not in whole.out
    signals = testbed("run", "signal", "--arch", "x86_64", "-u", "eh_frame")
    assert signals.status == 0 and "pieces" not in signals.out
    cut = testbed("run", "recursion", "--arch", "arm64", "--budget", "150")
    assert cut.status == 2 and "did not exit within 150 steps" in cut.err
