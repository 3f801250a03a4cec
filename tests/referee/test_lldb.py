"""LLDB as a referee."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed.referee.lldb import emulation_limits
from testbed.referee.lldb import strategy as lldb
from testbed.referee.lldb.strategy import LLDB, backtrace_of
from testbed.referee.model import Finding
from testbed.referee.process.debugger import Session
from testbed.runs.judging import judge
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, ToolCrashed, ToolHung
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
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
        assert verdict.exact or verdict.explained_by, f"{run.where(run[step].pc)}: {verdict}"
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
        assert not judge(run, step, said, theirs).unexplained
    assert found_by and not any("CFI" in name for name in found_by)
    assert any("insn" in name or "Emulate" in name for name in found_by)


@pytest.mark.parametrize(
    ("program", "mechanisms"),
    [("signal_bare", {"HANDLER+FIRST+LINK_INSIDE"}), ("signal_no_record", {"SIGNAL"})],
)
def test_without_tables_a_trampoline_is_looked_up_before_its_first_instruction(
    program: str, mechanisms: set[str]
) -> None:
    """So it is the handler's end: the handler is its own caller, or what was interrupted is said to have called it."""
    run = run_of(program, "arm64", "keystone")
    theirs = strategy("lldb", "lldb_no_tables")
    shown = set()
    for step in range(len(run)):
        verdict = judge(run, step, theirs.unwind(run[step]), theirs)
        assert not verdict.unexplained, f"{run.where(run[step].pc)}: {verdict}"
        shown |= {verdict.explained_by.mechanism} if verdict.explained_by else set()
    assert mechanisms <= shown


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [
        ("late_push", "arm64", "clang-asm"),
        ("behind_call", "x86_64", "keystone"),
        ("rows_everywhere", "x86_64", "clang-asm"),
        ("leaf_no_frame", "x86_64", "keystone"),
    ],
)
def test_without_tables_it_begins_at_a_label_that_no_symbol_in_front_reaches_over(
    program: str, arch: str, recipe: str
) -> None:
    """Of an interrupted function that has something on the stack behind a label: nowhere else is its frame wrong."""
    run = run_of(program, arch, recipe)
    theirs = strategy("lldb", "lldb_no_tables")
    wrong, right = 0, 0
    for step in range(len(run)):
        traits = run.frame_traits(step, 0)
        verdict = judge(run, step, theirs.unwind(run[step]), theirs)
        if not {Trait.BEHIND_LABEL, Trait.HOLDING} <= traits or (verdict.outcome.lying and verdict.frame):
            continue
        if Trait.FRAMED_AT_LABEL in traits:
            wrong += verdict.outcome.lying
        else:
            assert verdict.exact, f"{run.where(run[step].pc)}: {verdict}"
            right += 1
    assert wrong > 1
    assert right > 1


def test_every_reason_is_one_of_a_limit() -> None:
    """And the other way round: without a reason there is no line."""
    assert {limit.mechanism for limit in emulation_limits.WITHOUT_TABLES} == set(emulation_limits.REASONS)


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
