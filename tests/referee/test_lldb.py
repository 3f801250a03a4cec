"""LLDB as a referee."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed.referee.lldb import strategy as lldb
from testbed.referee.lldb.strategy import LLDB, backtrace_of
from testbed.referee.model import Finding
from testbed.referee.process.debugger import Session
from testbed.runs.judging import judge
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, ToolCrashed, ToolHung
from testbed.words.outcome import Outcome
from tests.referee.debuggers import CELLS, assert_reproduced, misbehaving, run_of, strategy
from unwinders import UNWINDERS


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_with_tables_it_agrees_with_the_truth_and_with_ours(program: str, arch: str, recipe: str) -> None:
    run = run_of(program, arch, recipe)
    theirs = strategy("lldb", "lldb")
    ours = next(UNWINDERS[name] for name in ("eh_frame", "debug_frame") if UNWINDERS[name].applies_to(run.built.image))
    exact = 0
    for step in range(0, len(run), 2):
        said = theirs.unwind(run[step])
        verdict = judge(run, step, said, theirs)
        exact += verdict.exact
        if verdict.exact:
            assert [frame.pc for frame in said.frames] == [frame.pc for frame in ours.unwind(run[step]).frames]
            assert all(frame.found_by for frame in said.frames)
            assert all(run.arch.sp in frame.registers for frame in said.frames[1:])
    assert exact > len(run) // 3


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_without_tables_it_follows_instructions(program: str, arch: str, recipe: str) -> None:
    run = run_of(program, arch, recipe)
    theirs = strategy("lldb", "lldb_no_tables")
    found_by = set()
    for step in range(0, len(run), 4):
        said = theirs.unwind(run[step])
        found_by |= {frame.found_by for frame in said.frames[1:]}
    assert found_by and not any("CFI" in name for name in found_by)
    assert any("insn" in name or "Emulate" in name for name in found_by)


def test_what_it_says_does_not_hang_on_what_it_was_asked_before() -> None:
    """In `early_return` a label stands in a function: kept plans would give another row there."""
    run = run_of("early_return", "arm64", "clang-asm")
    theirs = strategy("lldb", "lldb")
    late = run.step_at("late")
    before = theirs.unwind(run[late])
    theirs.unwind(run[late - 1])
    again = theirs.unwind(run[late])
    assert before.frames == again.frames
    assert judge(run, late, again).exact


def test_without_a_program_it_says_nothing() -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    snapshot = run.at("leaf")
    bare = Snapshot(snapshot.arch, snapshot.registers, snapshot.memory, (), snapshot.step)
    theirs = strategy("lldb", "lldb")
    assert str(theirs.unwind(bare).stopped) == "the debugger refuses: LLDB needs a program file"
    assert judge(run, snapshot, theirs.unwind(snapshot)).exact


def test_inlined_calls_are_no_frames() -> None:
    run = run_of("inline_chain", "arm64", "clang-O2")
    theirs = strategy("lldb", "lldb")
    for location in ("leaf#1", "leaf#2", "at_worker"):
        assert judge(run, run.at(location), theirs.unwind(run.at(location))).exact


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_a_mach_o_program_lies_where_it_was_loaded(arch: str) -> None:
    run = run_of("recursion", arch, "macho-O2")
    theirs = strategy("lldb", "lldb")
    step = run.step_at("descend#4") + 6
    said = theirs.unwind(run[step])
    assert judge(run, step, said).exact
    assert "compact unwind info" in {frame.found_by for frame in said.frames} or arch == "x86_64"


@pytest.mark.parametrize(("part", "there"), [(".", True), ("native", True), (None, False)])
def test_a_module_is_there_where_its_compiled_part_is(part: str | None, there: bool, tmp_path: Path) -> None:
    """Beside the module up to version 21, in a folder of its own since; a link that leads nowhere is none."""
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    compiled = folder / "lldb" / (part or ".") / "_lldb.cpython-311-x86_64-linux-gnu.so"
    compiled.parent.mkdir(parents=True)
    if part is None:
        compiled.symlink_to(tmp_path / "gone.so")
    else:
        compiled.touch()
    program = tmp_path / "lldb"
    program.write_text(f"#!/bin/sh\necho {folder}\n")
    program.chmod(0o755)
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin")
    assert lldb.python_for(str(program)) == ((python, str(folder)) if there and python else None)


@pytest.mark.parametrize("finding", LLDB.findings, ids=lambda finding: f"{finding.unwinder}-{finding.program}")
def test_what_was_found_is_still_so(finding: Finding) -> None:
    assert_reproduced(finding, "lldb")


@pytest.mark.parametrize(
    ("does", "seconds", "error", "outcome"),
    [("os.abort()", 60.0, ToolCrashed, Outcome.CRASHED), ("time.sleep(60)", 2.0, ToolHung, Outcome.HUNG)],
)
def test_an_lldb_that_dies_or_hangs_is_told(
    does: str, seconds: float, error: type[Exception], outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    broken = Session(frozenset(), misbehaving(does), afresh=True, seconds=seconds)
    monkeypatch.setattr(lldb, "session", lambda removed, arch: broken)
    said = lldb.unwind(frozenset(), run.at("leaf"))
    assert isinstance(said.stopped, error)
    assert judge(run, run.at("leaf"), said).outcome is outcome


def test_the_end_of_what_it_shows_is_its_claim_of_the_root_and_too_much_is_not() -> None:
    snapshot = run_of("leaf_call", "x86_64", "clang-asm").at("leaf")
    frame = {"pc": snapshot.pc, "kind": "normal", "unwinder": "eh_frame CFI", "cfa": 16, "registers": {}}
    assert backtrace_of(snapshot, {"frames": [frame], "stop": ["end", ""]}).stopped is None
    stopped = backtrace_of(snapshot, {"frames": [frame], "stop": ["limit", "more than 256 frames"]}).stopped
    assert isinstance(stopped, NoProgress) and stopped.pc == snapshot.pc
