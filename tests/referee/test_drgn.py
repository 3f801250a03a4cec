"""drgn as a referee: it agrees with ours where tables are right, and its end may come at any time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import testbed
from testbed.contract.frames import Frame, FrameKind
from testbed.referee.drgn.strategy import REFEREE, backtrace, find, unwind_by
from testbed.referee.model import Finding
from testbed.referee.process.file_tool import PATIENCE, FileTool
from testbed.runs.judging import judge_all
from testbed.words.errors import ToolCrashed, ToolHung
from unwinders import UNWINDERS

UNITS = [
    ("leaf_call", "x86_64", "keystone", "drgn"),
    ("leaf_call", "arm64", "clang-asm", "drgn"),
    ("callee_saved", "arm64", "keystone", "drgn"),
    ("val_expression", "x86_64", "keystone", "drgn"),
    ("inlined_call", "x86_64", "clang-O2", "drgn"),
    ("inlined_call", "arm32", "clang-O2", "drgn_debug_frame"),
    ("inlined_call", "arm32", "clang-thumb-O2", "drgn_debug_frame"),
    ("noreturn_last_call", "arm32", "clang-thumb-O2-fp", "drgn_debug_frame"),
    ("signal", "arm64", "keystone", "drgn"),
    ("early_return_wrong", "x86_64", "keystone", "drgn"),
]
needs_drgn = pytest.mark.skipif(find() is None, reason="PyPI package: drgn")


@needs_drgn
@pytest.mark.parametrize(("program", "arch", "recipe", "name"), UNITS)
def test_where_it_is_exact_it_says_what_our_reader_says(program: str, arch: str, recipe: str, name: str) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    unwinder = next(each for each in REFEREE.unwinders if each.name == name)
    assert unwinder.applies_to(run.built.image)
    verdicts = judge_all(run, unwinder)
    assert any(v.exact for v in verdicts)
    ours = UNWINDERS["debug_frame" if arch == "arm32" else "eh_frame"]
    for step in range(0, len(run), 5):
        snapshot = run[step]
        told, said = unwinder.unwind(snapshot), ours.unwind(snapshot)
        if verdicts[step].exact:
            assert [f.pc for f in told.frames] == [f.pc for f in said.frames]
            for theirs, mine in zip(told.frames, said.frames, strict=True):
                common = set(run.arch.preserved) & theirs.registers.keys() & mine.registers.keys()
                assert {n: theirs.registers[n] for n in common} == {n: mine.registers[n] for n in common}


@needs_drgn
@pytest.mark.parametrize(
    ("program", "recipe"),
    [("guarded_return", "clang-thumb-O2"), ("profiled", "profiled-O2"), ("inlined_call", "clang-O2")],
)
def test_by_one_table_alone_it_is_exact_where_the_rows_are_true_and_goes_wrong_where_one_is_not(
    program: str, recipe: str
) -> None:
    run = testbed.run(program, arch="arm32", recipe=recipe)
    (unwinder,) = (each for each in REFEREE.unwinders if each.assumption is not None)
    verdicts = [verdict for verdict in judge_all(run, unwinder) if not verdict.transition]
    failed = [verdict for verdict in verdicts if verdict.failed is not None]
    assert [verdict for verdict in verdicts if not verdict.exact] == failed
    assert all(v.failed is not None and v.since <= v.failed.frame <= v.frame for v in failed)
    assert len(failed) < len(verdicts) and not any(verdict.unexplained for verdict in verdicts)


@needs_drgn
@pytest.mark.parametrize("finding", REFEREE.findings, ids=lambda finding: finding.title)
def test_each_finding_shows_where_it_says(finding: Finding) -> None:
    run = testbed.run(finding.program, arch=finding.arch, recipe=finding.recipe)
    unwinder = next(each for each in REFEREE.unwinders if each.name == finding.unwinder)
    at = run.at(finding.at)
    verdict = testbed.judge(run, at, unwinder.unwind(at), unwinder)
    assert not verdict.exact
    ours = UNWINDERS["debug_frame" if finding.arch == "arm32" else "eh_frame"]
    assert testbed.judge(run, at, ours.unwind(at)).exact


@needs_drgn
def test_registers_of_callers_are_told() -> None:
    run = testbed.run("callee_saved", arch="arm64")
    unwinder = REFEREE.unwinders[0]
    said = unwinder.unwind(run.at("clobber+0x20"))
    assert all({"x19", "x28", "sp"} <= frame.registers.keys() for frame in said.frames)
    assert "x30" not in said.frames[1].registers
    assert unwinder.tool is not None and unwinder.tool().startswith("drgn ")


def fake(tmp_path: Path, body: str, seconds: float) -> FileTool:
    script = tmp_path / "tool.py"
    script.write_text(f"import os, sys, time\nasked = os.fdopen(int(sys.argv[1])); line = asked.readline()\n{body}\n")
    return FileTool(lambda requests, replies: [sys.executable, str(script), str(requests), str(replies)], seconds)


def test_a_crash_and_a_hang_are_outcomes_and_the_next_snapshot_finds_a_new_process(tmp_path: Path) -> None:
    run = testbed.run("leaf_call", arch="arm64")
    crashing = fake(tmp_path, "print('the last word', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)", 60)
    for _ in range(2):
        said = unwind_by(crashing, run[5])
        assert isinstance(said.stopped, ToolCrashed) and len(said.frames) == 1
        assert "SIGSEGV" in str(said.stopped) and "the last word" in str(said.stopped)
    hanging = fake(tmp_path, "time.sleep(60)", 0.3)
    started = time.monotonic()
    outcomes = [unwind_by(hanging, run[step]) for step in range(PATIENCE + 3)]
    assert all(isinstance(said.stopped, ToolHung) for said in outcomes)
    assert time.monotonic() - started < 50
    assert testbed.judge(run, 5, said).outcome.value == "crashed"
    assert testbed.judge(run, 0, outcomes[0]).outcome.value == "hung"


def test_how_a_list_ends_is_what_drgn_says() -> None:
    arch = testbed.arch_named("x86_64")
    first = Frame(FrameKind.INTERRUPTED, 0x10, {"rip": 0x10})

    def told(*pcs: int | None, error: str = "") -> dict[str, object]:
        return {"frames": [{"pc": pc, "interrupted": False, "registers": {}} for pc in (0x10, *pcs)], "error": error}

    assert backtrace(arch, first, told(0x20, None)).stopped is None
    assert backtrace(arch, first, told(0x20, 0)).stopped is None
    silent = backtrace(arch, first, told(0x20))
    assert silent.stopped is not None and silent.stopped.reason == "NoUnwindInfo" and silent.stopped.pc == 0x20
    fault = backtrace(arch, first, told(error="FaultError: could not read 0x8"))
    assert fault.stopped is not None and fault.stopped.reason == "UnreadableMemory" and "0x8" in str(fault.stopped)
