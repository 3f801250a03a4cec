"""Strategies and real unwinders, chosen by name."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.referee import REFEREES
from tests.cli.command import Testbed


def test_a_lying_strategy_makes_the_run_and_the_matrix_fail(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import MappingProxyType

    from testbed.contract.frames import Backtrace, Frame, FrameKind
    from testbed.contract.unwinder import Unwinder

    liar = Unwinder(
        name="always_root",
        summary="claims that every interrupted function is the root",
        unwind=lambda at: Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), None),
    )
    monkeypatch.setattr("testbed.cli.strategies.UNWINDERS", MappingProxyType({"always_root": liar}))
    said = testbed("run", "leaf_call", "--arch", "arm64")
    assert said.status == 1
    assert "UNEXPLAINED" in said.out
    said = testbed("matrix", "-p", "leaf_call", "-a", "arm64", "-j", "1")
    assert said.status == 1
    assert "UNEXPLAINED" in said.out


def test_run_and_backtrace_take_real_unwinders_by_name(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = testbed("run", "leaf_call", "--arch", "arm64", "-u", "libdwarf")
    assert missing.status == 2
    assert "no strategy matches 'libdwarf'" in missing.err
    absent = dataclasses.replace(REFEREES["libdw"], find=lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr("testbed.cli.strategies.REFEREES", {"libdw": absent})
        for command in ("run", "backtrace"):
            said = testbed(command, "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw")
            assert said.status == 2
            assert f"libdw needs libdw, which is not installed: {absent.package}" in said.err
    if REFEREES["libdw"].find() is None:
        pytest.skip("libdw is not installed: apt-get install libdw1")
    assert "libdw     exact" in testbed("run", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out
    assert "in middle ()" in testbed("backtrace", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out
