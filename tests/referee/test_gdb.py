"""gdb as a referee."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.contract.frames import FrameKind
from testbed.image import LoadedImage, read_elf
from testbed.referee.gdb import strategy as gdb
from testbed.referee.gdb.strategy import GDB, backtrace_of
from testbed.referee.model import Finding
from testbed.referee.process.debugger import PATIENCE, Session
from testbed.runs.judging import judge
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, ToolCrashed, ToolHung, UnreadableMemory
from testbed.words.outcome import Outcome
from tests.referee.debuggers import CELLS, assert_reproduced, misbehaving, processes, run_of, strategy
from unwinders import UNWINDERS


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_with_tables_it_agrees_with_the_truth_and_with_ours_at_every_step(program: str, arch: str, recipe: str) -> None:
    run = run_of(program, arch, recipe)
    theirs = strategy("gdb", "gdb")
    ours = next(UNWINDERS[name] for name in ("eh_frame", "debug_frame") if UNWINDERS[name].applies_to(run.built.image))
    recovered = set()
    for step in range(len(run)):
        said = theirs.unwind(run[step])
        verdict = judge(run, step, said, theirs)
        assert verdict.exact, f"{run.where(run[step].pc)}: {verdict}"
        if verdict.exact:
            assert [frame.pc for frame in said.frames] == [frame.pc for frame in ours.unwind(run[step]).frames]
            for frame in said.frames[1:]:
                recovered |= frame.registers.keys()
                assert frame.found_by == "dwarf2" or frame.found_by.endswith("epilogue")
            assert all(frame.cfa is not None for frame in said.frames[:-1])
    assert recovered == {*run.arch.preserved, run.arch.sp, run.arch.pc}


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_without_tables_only_its_analysers_are_left(program: str, arch: str, recipe: str) -> None:
    run = run_of(program, arch, recipe)
    theirs = strategy("gdb", "gdb_no_tables")
    found_by = set()
    for step in range(0, len(run), 3):
        said = theirs.unwind(run[step])
        found_by |= {frame.found_by for frame in said.frames[1:]}
    assert found_by and all(name.endswith(("prologue", "epilogue")) for name in found_by)


@pytest.mark.parametrize("name", ["gdb_exidx", "gdb_no_tables"])
@pytest.mark.parametrize(("recipe", "pop"), [("keystone", "roomy+0x14"), ("keystone-thumb", "roomy+0xa")])
def test_the_epilogue_unwinder_reads_what_earlier_calls_have_left(recipe: str, pop: str, name: str) -> None:
    run = run_of("made_caller", "arm32", recipe)
    theirs = strategy("gdb", name)
    there = [run[step] for step in range(len(run)) if run.where(run[step].pc) == pop]
    assert there
    for snapshot in there:
        verdict = judge(run, snapshot, theirs.unwind(snapshot), theirs)
        assert verdict.outcome is Outcome.PHANTOM


def test_of_ehabi_it_says_so() -> None:
    run = run_of("leaf_call", "arm32", "clang-asm")
    said = strategy("gdb", "gdb_exidx").unwind(run.at("leaf"))
    assert [frame.found_by for frame in said.frames[2:]] == ["arm exidx"] * (len(said.frames) - 2)
    assert run.frame_names(said.frames) == ("leaf", "middle", "main", "_start")


def test_a_signal_frame_gives_back_all_registers() -> None:
    run = run_of("signal", "arm64", "clang-asm")
    said = strategy("gdb", "gdb").unwind(run.at("on_signal"))
    interrupted = next(frame for frame in said.frames[1:] if frame.kind is FrameKind.INTERRUPTED)
    assert interrupted.registers.keys() == run.arch.by_name.keys() - {run.arch.flags}
    assert judge(run, run.at("on_signal"), said).exact


@pytest.mark.parametrize("finding", GDB.findings, ids=lambda finding: f"{finding.unwinder}-{finding.program}")
def test_what_was_found_is_still_so(finding: Finding) -> None:
    assert_reproduced(finding, "gdb")


def test_an_image_whose_file_is_gone_is_opened_from_its_bytes(tmp_path: Path) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    snapshot = run.at("leaf")
    image = read_elf(tmp_path / "gone.elf", content=run.built.image.content)
    moved = Snapshot(snapshot.arch, snapshot.registers, snapshot.memory, (LoadedImage(image),), snapshot.step)
    assert judge(run, snapshot, strategy("gdb", "gdb").unwind(moved)).exact


def test_a_path_with_blanks_and_quotes_is_a_path(tmp_path: Path) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    path = tmp_path / 'a "b" c\\d.elf'
    path.write_bytes(run.built.image.content)
    snapshot = run.at("leaf")
    moved = Snapshot(snapshot.arch, snapshot.registers, snapshot.memory, (LoadedImage(read_elf(path)),), snapshot.step)
    said = strategy("gdb", "gdb").unwind(moved)
    assert judge(run, snapshot, said).exact and said.frames[1].found_by == "dwarf2"


def test_a_file_that_gdb_does_not_take_is_told_and_the_next_one_is_taken(tmp_path: Path) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    path = tmp_path / "text.elf"
    path.write_text("no program")
    snapshot = run.at("leaf")
    image = LoadedImage(replace(run.built.image, path=path, content=b""))
    moved = Snapshot(snapshot.arch, snapshot.registers, snapshot.memory, (image,), snapshot.step)
    theirs = strategy("gdb", "gdb")
    stopped = theirs.unwind(moved).stopped
    assert isinstance(stopped, NoUnwindInfo) and "text.elf" in str(stopped)
    assert judge(run, snapshot, theirs.unwind(snapshot)).exact


def test_programs_of_one_architecture_share_a_process() -> None:
    theirs = strategy("gdb", "gdb")
    first, second = run_of("leaf_call", "x86_64", "clang-asm"), run_of("struct_return", "x86_64", "clang-O2")
    theirs.unwind(first[0])
    before = processes()
    for run in (second, first, second):
        assert judge(run, 5, theirs.unwind(run[5])).exact
    assert processes() == before


@pytest.mark.parametrize(
    ("does", "seconds", "error", "outcome"),
    [
        ("os.abort()", 60.0, ToolCrashed, Outcome.CRASHED),
        ("time.sleep(60)", 2.0, ToolHung, Outcome.HUNG),
    ],
)
def test_a_gdb_that_dies_or_hangs_is_told_and_replaced(
    does: str, seconds: float, error: type[Exception], outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of("leaf_call", "arm64", "clang-asm")
    broken = Session(frozenset(), misbehaving(does), seconds=seconds)
    monkeypatch.setattr(gdb, "session", lambda removed, arch: broken)
    before = processes()
    said = gdb.unwind(frozenset(), run.at("leaf"))
    assert isinstance(said.stopped, error) and said.stopped.pc == run.at("leaf").pc
    assert judge(run, run.at("leaf"), said).outcome is outcome
    assert processes() == before
    broken.command = misbehaving("pass")
    assert gdb.unwind(frozenset(), run.at("leaf")).stopped is None


def test_a_program_at_which_it_keeps_hanging_is_given_up() -> None:
    broken = Session(frozenset(), misbehaving("time.sleep(60)"), seconds=0.5)
    run, other = run_of("leaf_call", "arm64", "clang-asm"), run_of("struct_return", "arm64", "clang-O2")
    for step in range(PATIENCE):
        with pytest.raises(ToolHung, match="no answer within"):
            broken.ask(run[step])
    with pytest.raises(ToolHung, match="it is not asked any more"):
        broken.ask(run[PATIENCE])
    with pytest.raises(ToolHung, match="no answer within"):
        broken.ask(other[0])


def test_its_reasons_to_stop_are_typed() -> None:
    snapshot = run_of("leaf_call", "arm64", "clang-asm").at("leaf")
    frame = {"pc": snapshot.pc, "kind": "normal", "unwinder": "dwarf2", "cfa": 16, "registers": {}}
    outer = {**frame, "pc": 0}

    def stopped(name: str, text: str, frames: list[dict[str, object]]) -> BaseException | None:
        return backtrace_of(snapshot, {"frames": frames, "stop": [name, text]}).stopped

    assert stopped("OUTERMOST", "outermost", [frame]) is None
    assert stopped("NO_REASON", "", [frame]) is None
    assert isinstance(stopped("SAME_ID", "previous frame identical", [frame]), NoProgress)
    assert isinstance(stopped("NO_SAVED_PC", "", [frame]), NoUnwindInfo)
    unreadable = stopped("MEMORY_ERROR", "Cannot access memory at address 0x59", [frame])
    assert isinstance(unreadable, UnreadableMemory) and unreadable.address == 0x59
    # Its last frame with pc 0 is how it shows the end; where a signal interrupted one, it is a frame.
    ended = backtrace_of(snapshot, {"frames": [frame, outer], "stop": ["SAME_ID", ""]})
    assert ended.stopped is None and len(ended.frames) == 1
    kept = backtrace_of(snapshot, {"frames": [{**frame, "kind": "signal"}, outer], "stop": ["SAME_ID", ""]})
    assert isinstance(kept.stopped, NoProgress) and len(kept.frames) == 2
    unread = backtrace_of(snapshot, {"frames": [], "stop": ["error", "Cannot find bounds of current function"]})
    assert len(unread.frames) == 1 and isinstance(unread.stopped, NoUnwindInfo)
