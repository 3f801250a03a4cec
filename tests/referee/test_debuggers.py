"""gdb, LLDB and drgn as unwinders: what they are asked, what they say, and how they fail."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.contract.unwinder import FrameKind
from testbed.conventions import platform
from testbed.image import Image, LoadedImage, read_image
from testbed.referee.drgn.unwinder import REFEREE, find, unwind_by
from testbed.referee.gdb import unwinder as gdb
from testbed.referee.lldb import unwinder as lldb
from testbed.referee.process.debugger import PATIENCE, Session, asked
from testbed.referee.process.file_tool import PATIENCE as MOST_HANGS
from testbed.referee.process.file_tool import FileTool
from testbed.runs.run import judge, judge_all
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, ToolCrashed, ToolHung, UnreadableMemory, UnwindError
from testbed.words.outcome import Outcome
from tests.corpus import ran as run_of
from tests.corpus import referees_unwinder as installed
from tests.corpus import script
from unwinders import UNWINDERS

CELLS = (
    ("leaf_call", "x86_64", "clang-asm"),
    ("leaf_call", "arm64", "clang-asm"),
    ("leaf_call", "arm32", "clang-asm"),
    ("leaf_call", "arm32", "clang-asm-thumb"),
    ("struct_return", "x86_64", "clang-O2"),
    ("struct_return", "arm64", "clang-O2"),
)


def misbehaving(does: str) -> Callable[[int, int], Sequence[str]]:
    """A debugger that opens programs, and at the first snapshot that it is asked for ``does`` something else."""
    tool = f"""
import json, os, sys, time
requests, replies = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in requests:
    request = json.loads(line)
    if "open" not in request:
        {does}
    print(json.dumps({{"frames": [], "stop": ["NO_REASON", ""]}}), file=replies, flush=True)
"""
    return lambda requests, replies: [sys.executable, "-c", tool, str(requests), str(replies)]


def processes() -> set[str]:
    """The numbers of the children of this process."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        return set(children.read().split())


@pytest.mark.parametrize("tool", ["gdb", "lldb"])
@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_with_tables_it_agrees_with_the_truth_and_with_ours(tool: str, program: str, arch: str, recipe: str) -> None:
    """gdb at every step, LLDB at more than a third of those that are asked."""
    run = run_of(program, arch, recipe)
    theirs = installed(tool, tool)
    ours = next(UNWINDERS[name] for name in ("eh_frame", "debug_frame") if UNWINDERS[name].applies_to(run.built.image))
    asked = range(0, len(run), 1 if tool == "gdb" else 2)
    exact = [(step, said) for step in asked if judge(run, step, said := theirs.unwind(run[step]), theirs).exact]
    assert len(exact) == len(asked) if tool == "gdb" else len(exact) > len(run) // 3
    callers = [frame for _, said in exact for frame in said.frames[1:]]
    for step, said in exact:
        assert [frame.pc for frame in said.frames] == [frame.pc for frame in ours.unwind(run[step]).frames]
        assert all(frame.found_by and run.arch.sp in frame.registers for frame in said.frames[1:])
    if tool == "gdb":
        assert all(frame.found_by == "dwarf2" or frame.found_by.endswith("epilogue") for frame in callers)
        assert all(frame.cfa is not None for _, said in exact for frame in said.frames[:-1])
        recovered = set().union(*(frame.registers for frame in callers))
        assert recovered == {*platform(run.arch).preserved, run.arch.sp, run.arch.pc}


@pytest.mark.parametrize("tool", ["gdb", "lldb"])
@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_without_tables_only_its_analysers_are_left(tool: str, program: str, arch: str, recipe: str) -> None:
    run = run_of(program, arch, recipe)
    theirs = installed(tool, f"{tool}_no_tables")
    found_by = {frame.found_by for step in range(0, len(run), 3) for frame in theirs.unwind(run[step]).frames[1:]}
    assert found_by and not any("CFI" in name for name in found_by)
    if tool == "gdb":
        assert all(name.endswith(("prologue", "epilogue")) for name in found_by)
    else:
        assert any("insn" in name or "Emulate" in name for name in found_by)


@pytest.mark.parametrize("name", ["gdb_exidx", "gdb_no_tables"])
@pytest.mark.parametrize(("recipe", "pop"), [("keystone", "roomy+0x14"), ("keystone-thumb", "roomy+0xa")])
def test_the_epilogue_unwinder_reads_what_earlier_calls_have_left(recipe: str, pop: str, name: str) -> None:
    run = run_of("made_caller", "arm32", recipe)
    theirs = installed("gdb", name)
    there = [run[step] for step in range(len(run)) if run.where(run[step].pc) == pop]
    assert there
    for snapshot in there:
        verdict = judge(run, snapshot, theirs.unwind(snapshot), theirs)
        assert verdict.outcome is Outcome.PHANTOM


def test_of_ehabi_it_says_so() -> None:
    run = run_of("leaf_call", "arm32", "clang-asm")
    said = installed("gdb", "gdb_exidx").unwind(run.at("leaf"))
    assert [frame.found_by for frame in said.frames[2:]] == ["arm exidx"] * (len(said.frames) - 2)
    assert run.frame_names(said.frames) == ("leaf", "middle", "main", "_start")


def test_a_signal_frame_gives_back_all_registers() -> None:
    run = run_of("signal", "arm64", "clang-asm")
    said = installed("gdb", "gdb").unwind(run.at("on_signal"))
    interrupted = next(frame for frame in said.frames[1:] if frame.kind is FrameKind.INTERRUPTED)
    assert interrupted.registers.keys() == run.arch.by_name.keys() - {run.arch.flags}
    assert judge(run, run.at("on_signal"), said).exact


def with_images(snapshot: Snapshot, *images: Image) -> Snapshot:
    """A snapshot in which other files are loaded, none of them moved."""
    return replace(snapshot, images=tuple(map(LoadedImage, images)))


@pytest.mark.parametrize(("name", "there"), [("gone.elf", False), ('a "b" c\\d.elf', True)])
def test_an_image_is_opened_by_any_path_and_from_its_bytes_where_its_file_is_gone(
    tmp_path: Path, name: str, there: bool
) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    content, snapshot, path = run.built.image.content, run.at("leaf"), tmp_path / name
    if there:
        path.write_bytes(content)
    said = installed("gdb", "gdb").unwind(with_images(snapshot, read_image(path, content=content)))
    assert judge(run, snapshot, said).exact and said.frames[1].found_by == "dwarf2"


def test_a_file_that_gdb_does_not_take_is_told_and_the_next_one_is_taken(tmp_path: Path) -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    (tmp_path / "text.elf").write_text("no program")
    snapshot, theirs = run.at("leaf"), installed("gdb", "gdb")
    bad = replace(run.built.image, path=tmp_path / "text.elf", content=b"")
    stopped = theirs.unwind(with_images(snapshot, bad)).stopped
    assert isinstance(stopped, NoUnwindInfo) and "text.elf" in str(stopped)
    assert judge(run, snapshot, theirs.unwind(snapshot)).exact


def test_programs_of_one_architecture_share_a_process() -> None:
    theirs = installed("gdb", "gdb")
    first, second = run_of("leaf_call", "x86_64", "clang-asm"), run_of("struct_return", "x86_64", "clang-O2")
    theirs.unwind(first[0])
    before = processes()
    for run in (second, first, second):
        assert judge(run, 5, theirs.unwind(run[5])).exact
    assert processes() == before


@pytest.mark.parametrize("tool", [gdb, lldb])
@pytest.mark.parametrize(
    ("does", "seconds", "error", "outcome"),
    [("os.abort()", 60.0, ToolCrashed, Outcome.CRASHED), ("time.sleep(60)", 2.0, ToolHung, Outcome.HUNG)],
)
def test_one_that_dies_or_hangs_is_told_and_replaced(
    tool: Any, does: str, seconds: float, error: type[UnwindError], outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of("leaf_call", "arm64", "clang-asm")
    broken = Session(frozenset(), misbehaving(does), afresh=tool is lldb, seconds=seconds)
    monkeypatch.setattr(tool, "session", lambda found, removed, arch: broken)
    before = processes()
    said = asked(tool.session, tool.backtrace_of, tool.find, frozenset(), run.at("leaf"))
    assert isinstance(said.stopped, error) and said.stopped.pc == run.at("leaf").pc
    assert judge(run, run.at("leaf"), said).outcome is outcome
    assert processes() == before
    broken.command = misbehaving("pass")
    assert not isinstance(asked(tool.session, tool.backtrace_of, tool.find, frozenset(), run.at("leaf")).stopped, error)


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


FRAME: dict[str, object] = {"pc": 0x1000, "kind": "normal", "unwinder": "a table", "cfa": 16, "registers": {}}
OUTER = {**FRAME, "pc": 0}


@pytest.mark.parametrize(
    ("tool", "frames", "stop", "error", "number"),
    [
        (gdb, [FRAME], ["OUTERMOST", "outermost"], None, 1),
        (gdb, [FRAME], ["NO_REASON", ""], None, 1),
        (gdb, [FRAME], ["SAME_ID", "previous frame identical"], NoProgress, 1),
        (gdb, [FRAME], ["NO_SAVED_PC", ""], NoUnwindInfo, 1),
        (gdb, [FRAME], ["MEMORY_ERROR", "Cannot access memory at address 0x59"], UnreadableMemory, 1),
        # Its last frame with pc 0 is how it shows the end; where a signal interrupted one, it is a frame.
        (gdb, [FRAME, OUTER], ["SAME_ID", ""], None, 1),
        (gdb, [{**FRAME, "kind": "signal"}, OUTER], ["SAME_ID", ""], NoProgress, 2),
        (gdb, [], ["error", "Cannot find bounds of current function"], NoUnwindInfo, 1),
        # The end of what LLDB shows is its claim of the root, and too much is not.
        (lldb, [FRAME], ["end", ""], None, 1),
        (lldb, [FRAME], ["limit", "more than 256 frames"], NoProgress, 1),
    ],
)
def test_reasons_to_stop_are_typed(
    tool: Any, frames: list[dict[str, object]], stop: list[str], error: type[UnwindError] | None, number: int
) -> None:
    snapshot = run_of("leaf_call", "arm64", "clang-asm").at("leaf")
    said = tool.backtrace_of(snapshot, {"frames": frames, "stop": stop})
    assert (type(said.stopped) if said.stopped else None, len(said.frames)) == (error, number)
    if isinstance(said.stopped, UnreadableMemory):
        assert said.stopped.address == 0x59
    if stop[0] == "limit":
        assert said.stopped is not None and said.stopped.pc == snapshot.pc


# LLDB as a referee.


def test_what_it_says_does_not_hang_on_what_it_was_asked_before() -> None:
    """In `early_return` a label stands in a function: kept plans would give another row there."""
    run = run_of("early_return", "arm64", "clang-asm")
    theirs = installed("lldb", "lldb")
    late = run.step_at("late")
    before = theirs.unwind(run[late])
    theirs.unwind(run[late - 1])
    again = theirs.unwind(run[late])
    assert before.frames == again.frames
    assert judge(run, late, again).exact


def test_without_a_program_it_says_nothing() -> None:
    run = run_of("leaf_call", "x86_64", "clang-asm")
    snapshot = run.at("leaf")
    theirs = installed("lldb", "lldb")
    assert str(theirs.unwind(with_images(snapshot)).stopped) == "the debugger refuses: LLDB needs a program file"
    assert judge(run, snapshot, theirs.unwind(snapshot)).exact


def test_inlined_calls_are_no_frames() -> None:
    run = run_of("inline_chain", "arm64", "clang-O2")
    theirs = installed("lldb", "lldb")
    for location in ("leaf#1", "leaf#2", "at_worker"):
        assert judge(run, run.at(location), theirs.unwind(run.at(location))).exact


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_a_mach_o_program_lies_where_it_was_loaded(arch: str) -> None:
    run = run_of("recursion", arch, "macho-O2")
    theirs = installed("lldb", "lldb")
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
    program = script(tmp_path / "lldb", f"#!/bin/sh\necho {folder}\n")
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin")
    assert lldb.python_for(str(program)) == ((python, str(folder)) if there and python else None)


# drgn as a referee: it agrees with ours where tables are right, and its end may come at any time.


needs_drgn = pytest.mark.skipif(find() is None, reason="PyPI package: drgn")


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
    outcomes = [unwind_by(hanging, run[step]) for step in range(MOST_HANGS + 3)]
    assert all(isinstance(said.stopped, ToolHung) for said in outcomes)
    assert time.monotonic() - started < 50
    assert testbed.judge(run, 5, said).outcome.value == "crashed"
    assert testbed.judge(run, 0, outcomes[0]).outcome.value == "hung"


@pytest.mark.parametrize(
    ("pcs", "error", "said"),
    [
        ((0x20, None), "", None),
        ((0x20, 0), "", None),
        ((0x20,), "", ("NoUnwindInfo", 0x20, "")),
        ((), "FaultError: could not read 0x8", ("UnreadableMemory", 0x10, "0x8")),
    ],
)
def test_how_a_list_ends_is_what_drgn_says(
    pcs: tuple[int | None, ...], error: str, said: tuple[str, int, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [{"pc": pc, "interrupted": False, "registers": {}} for pc in (0x10, *pcs)]
    registers = dict.fromkeys(testbed.arch_named("x86_64").by_name, 0x10)
    at = Snapshot.from_parts(arch="x86_64", registers=registers, memory=[], images=[])
    monkeypatch.setattr(FileTool, "about", lambda *_, **__: {"frames": frames, "error": error})
    stopped = unwind_by(FileTool(lambda *_: ()), at).stopped
    assert (stopped is None) == (said is None)
    if stopped is not None and said is not None:
        assert (stopped.reason, stopped.pc) == said[:2] and said[2] in str(stopped)
