"""The plots: files that a viewer opens."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from testbed.campaign.results import Cell, Matrix, UnitResult
from testbed.report.plots import plot_matrix, plot_run
from testbed.runs.run import Run
from testbed.verdicts.one import Verdict
from testbed.words.errors import UsageError
from tests.report.judged import judged


def leaf_call() -> tuple[Run, list[tuple[Cell, Sequence[Verdict]]]]:
    run, answers, cells = judged("leaf_call", "arm64", "keystone")
    return run, [(cell, each.verdicts) for cell, each in zip(cells, answers.each, strict=True)]


def test_a_run_is_plotted_and_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'unwind-testbed[plot]'")
    run, by_strategy = leaf_call()
    for name in ("a.svg", "b.svg", "c.png"):
        plot_run(run, by_strategy, tmp_path / name)
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_matrix_is_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'unwind-testbed[plot]'")
    _, _, cells = judged("leaf_call", "arm64", "keystone")
    plot_matrix(Matrix((UnitResult(cells[0].unit, cells),), 1), tmp_path / "m.svg")
    assert "fp_chain" in (tmp_path / "m.svg").read_text()  # a comment beside each text's outlines


def test_a_wrong_suffix_and_a_missing_library_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, by_strategy = leaf_call()
    with pytest.raises(UsageError, match=r"a plot ends in \.svg or \.png"):
        plot_run(run, by_strategy, tmp_path / "a.jpg")
    whole = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return whole(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"unwind-testbed\[plot\]"):
        plot_run(run, by_strategy, tmp_path / "a.svg")
