"""The timeline: valid for both viewers, balanced, and the same stacks as the truth and the strategies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

import testbed
from testbed.campaign.results import Cell, Matrix, UnitResult
from testbed.report.answers import Answers, answers_of
from testbed.report.plots import plot_matrix, plot_run
from testbed.report.schemas import schema
from testbed.report.timeline import Change, changes, timeline
from testbed.runs.run import Run
from testbed.verdicts.one import Verdict
from testbed.words.errors import UsageError
from tests.report.judged import judged
from unwinders import UNWINDERS


def stacks(events: Sequence[dict[str, object]], steps: int) -> list[list[object]]:
    """The open frames after all events at or before each step, by replaying; fails where a close does not match."""
    at: list[list[object]] = []
    open_: list[object] = []
    rest = list(events)
    for step in range(steps):
        while rest and rest[0]["at"] == step:
            event = rest.pop(0)
            if event["type"] == "O":
                open_.append(event["frame"])
            else:
                assert open_.pop() == event["frame"]
        at.append(list(open_))
    for event in rest:
        assert (event["at"], event["type"], open_.pop()) == (steps, "C", event["frame"])
    assert open_ == []
    return at


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("leaf_call", "arm64", "keystone"), ("recursion", "x86_64", "clang-O0"), ("tail_call", "arm32", "keystone")],
)
def test_a_timeline_replays_to_the_stacks(program: str, arch: str, recipe: str) -> None:
    run, answers, _ = judged(program, arch, recipe)
    data = timeline(run, answers)
    jsonschema.validate(data, schema("timeline"))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    truth, *lanes = [stacks(profile["events"], len(run)) for profile in data["profiles"]]
    assert [len(stack) for stack in truth] == [len(run.truth(step)) for step in range(len(run))]
    for each, lane in zip(answers.each, lanes, strict=True):
        for step, stack in enumerate(lane):
            said = each.unwinder.unwind(run[step])
            claimed = [f"({said.stopped.reason})"] if said.stopped else []
            claimed += reversed(run.frame_names(said.frames))
            assert [names[int(str(frame))] for frame in stack] == claimed


def test_trace_events_say_the_same_as_the_profiles() -> None:
    run, answers, _ = judged("leaf_call", "arm64", "keystone")
    data = timeline(run, answers)
    for thread, profile in enumerate(data["profiles"]):
        names = [frame["name"] for frame in data["shared"]["frames"]]
        evented = [(e["type"] == "O", names[e["frame"]], e["at"]) for e in profile["events"]]
        traced = [
            (e["ph"] == "B", e["name"], e["ts"]) for e in data["traceEvents"] if e["tid"] == thread and e["ph"] in "BE"
        ]
        assert traced == evented
    truth, chain = (stacks(profile["events"], len(run)) for profile in data["profiles"][:2])
    shorter = [step for step, (a, b) in enumerate(zip(truth, chain, strict=True)) if len(a) > len(b)]
    assert shorter == [step for step, verdict in enumerate(answers.each[0].verdicts) if not verdict.exact]


def test_another_activation_of_the_same_function_is_another_frame() -> None:
    assert list(changes(iter([[(0, "main"), (1, "f")], [(0, "main"), (2, "f")]]))) == [
        Change(0, True, "main"),
        Change(0, True, "f"),
        Change(1, False, "f"),
        Change(1, True, "f"),
        Change(2, False, "f"),
        Change(2, False, "main"),
    ]


# What strategies say at every step, kept small: nothing is lost, and the native way says the same.


def said(run: Run, answers: Answers) -> list[list[tuple[object, ...]]]:
    return [
        [(*answers.chain(int(node)), float(cfa)) for node, cfa in zip(each.callers, each.cfa, strict=True)]
        for each in answers.each
    ]


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("callee_saved", "arm64", "keystone"), ("recursion", "x86_64", "clang-O2"), ("leaf_call", "arm32", "keystone")],
)
def test_answers_keep_what_was_said(program: str, arch: str, recipe: str) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    applicable = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]
    readably = answers_of(run, applicable, natively=False)
    for each, chains in zip(readably.each, said(run, readably), strict=True):
        for step, (pcs, end, cfa) in enumerate(chains):
            backtrace = each.unwinder.unwind(run[step])
            assert pcs == tuple(frame.pc for frame in backtrace.frames[1:])
            assert end == ("" if backtrace.stopped is None else f"{backtrace.stopped.reason}: {backtrace.stopped}")
            assert cfa == (-1 if backtrace.frames[0].cfa is None else backtrace.frames[0].cfa)
    natively = answers_of(run, applicable, natively=True)
    assert said(run, natively) == said(run, readably)
    for one, other in zip(natively.each, readably.each, strict=True):
        assert one.verdicts == other.verdicts
    assert len(np.unique(np.stack([readably.pc, readably.cfa, readably.outer]), axis=1).T) == len(readably.pc)


# The plots: files that a viewer opens.


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
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"unwind-testbed\[plot\]"):
        plot_run(run, by_strategy, tmp_path / "a.svg")
