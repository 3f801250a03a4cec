"""nongnu libunwind executed in the emulator, on arm64 and arm32: from the registers that a signal came with."""

from __future__ import annotations

from pathlib import Path

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.contract.frames import FrameKind
from testbed.referee.profilers import agent
from testbed.referee.profilers.agent import NONGNU, NONGNU_PACKAGES, brought_by, found_for
from testbed.referee.profilers.in_handler import _bench, _words, executed
from testbed.referee.profilers.strategy import NONGNU_BACKTRACE
from testbed.runs.judging import judge_all
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

ARM64, ARM32 = NONGNU_BACKTRACE.unwinders


def needs(arch: str) -> None:
    if found_for(NONGNU, ARCHES[arch]) is None:
        pytest.skip(brought_by(NONGNU, ARCHES[arch]))


@pytest.mark.parametrize("program", ["leaf_call", "callee_saved", "early_return", "recursion"])
def test_it_is_exact_where_the_table_is_right_and_finds_what_our_reader_finds(program: str) -> None:
    needs("arm64")
    run = testbed.run(program, arch="arm64", recipe="clang-O2" if program == "recursion" else "clang-asm")
    assert {verdict.outcome for verdict in judge_all(run, ARM64)} == {Outcome.EXACT}
    for step in range(0, len(run), 5):
        told, ours = ARM64.unwind(run[step]), UNWINDERS["eh_frame"].unwind(run[step])
        assert [(f.pc, f.registers["sp"]) for f in told.frames] == [(f.pc, f.registers["sp"]) for f in ours.frames]


@pytest.mark.parametrize("recipe", ["keystone", "keystone-thumb"])
def test_on_arm32_every_caller_is_found_from_the_body_of_a_function(recipe: str) -> None:
    needs("arm32")
    run = testbed.run("leaf_call", arch="arm32", recipe=recipe)
    body = run.at("leaf_body")
    said, true = ARM32.unwind(body), run.truth(body).frames
    assert [frame.pc for frame in said.frames] == [frame.pc for frame in true][: len(said.frames)]
    assert len(said.frames) >= len(true) - 1


def test_it_says_of_the_frame_behind_a_trampoline_that_a_signal_interrupted_it() -> None:
    needs("arm64")
    run = testbed.run("signal", arch="arm64", recipe="keystone")
    kinds = [frame.kind for frame in ARM64.unwind(run.at("@47")).frames]
    assert kinds[2] is FrameKind.INTERRUPTED and kinds[3] is FrameKind.CALLER


def test_what_is_mapped_is_what_the_library_is_told() -> None:
    """It asks the kernel before it reads: the answer is the snapshot's memory, and the agent's own."""
    needs("arm64")
    snapshot = testbed.run("leaf_call", arch="arm64", recipe="keystone")[5]
    executed(NONGNU, snapshot)
    bench = _bench(NONGNU, snapshot.arch)
    (count,) = _words(bench, "testbed_regions", 1)
    edges = _words(bench, "testbed_regions", 1 + 2 * count)[1:]
    ranges = list(zip(edges[::2], edges[1::2], strict=True))
    assert any(low <= snapshot.sp < high for low, high in ranges)
    assert any(low <= snapshot.pc < high for low, high in ranges)
    assert not any(low <= 0 < high for low, high in ranges)


def test_without_the_package_it_is_not_there_and_says_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(agent, "_nongnu_folder", lambda arch: tmp_path)
    found_for.cache_clear()
    try:
        assert found_for(NONGNU, ARCHES["arm64"]) is None
        assert NONGNU_BACKTRACE.find() is None
        assert "libunwind-dev:armhf" in NONGNU_PACKAGES["arm32"] and "armhf" in NONGNU_BACKTRACE.package
    finally:
        found_for.cache_clear()
