"""Android's libunwindstack as a referee: three architectures from one library, one snapshot after the other."""

from __future__ import annotations

import pytest

import testbed
from testbed.contract.frames import FrameKind
from testbed.referee.libunwindstack import library
from testbed.referee.libunwindstack.library import find
from testbed.referee.libunwindstack.strategy import REFEREE, maps_text
from testbed.runs.judging import judge_all
from testbed.words.outcome import Outcome
from unwinders import UNWINDERS

(STACK,) = REFEREE.unwinders
present = pytest.mark.skipif(find() is None, reason=f"apt-get install {library.PACKAGE} g++")
RIGHT = [
    ("leaf_call", "x86_64", "keystone"),
    ("leaf_call", "arm64", "clang-asm"),
    ("leaf_call", "arm32", "keystone-thumb"),
    ("callee_saved", "arm64", "keystone"),
    ("mutual_recursion", "x86_64", "gcc-O2"),
    ("switch_table", "arm64", "gcc-O2-fp"),
    ("inlined_call", "x86_64", "clang-O2"),
]


@present
@pytest.mark.parametrize(("program", "arch", "recipe"), RIGHT)
def test_it_is_exact_where_the_table_is_right_and_finds_what_our_reader_finds(
    program: str, arch: str, recipe: str
) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    assert {verdict.outcome for verdict in judge_all(run, STACK) if not verdict.transition} == {Outcome.EXACT}
    ours = UNWINDERS["debug_frame" if arch == "arm32" else "eh_frame"]
    for step in range(0, len(run), 7):
        told, said = STACK.unwind(run[step]), ours.unwind(run[step])
        assert [(f.pc, f.registers[run.arch.sp]) for f in told.frames] == [
            (f.pc, f.registers[run.arch.sp]) for f in said.frames
        ]


@present
def test_what_is_asked_does_not_depend_on_what_was_asked_before() -> None:
    """Rows are remembered in the library too widely: each snapshot is asked with nothing remembered."""
    run = testbed.run("mutual_recursion", arch="x86_64", recipe="gcc-O2")
    forwards = [str(STACK.unwind(run[step])) for step in range(len(run))]
    backwards = [str(STACK.unwind(run[step])) for step in reversed(range(len(run)))]
    assert forwards == backwards[::-1]


@present
def test_the_frame_that_a_signal_interrupted_is_looked_up_before_its_pc() -> None:
    run = testbed.run("signal", arch="arm64", recipe="keystone")
    at = run.at("@47")
    said = STACK.unwind(at)
    assert testbed.judge(run, at, said, STACK).outcome is Outcome.SKIPPED
    assert [frame.pc for frame in said.frames[:3]] == [frame.pc for frame in run.truth(at).frames[:3]]
    assert said.frames[2].kind is FrameKind.CALLER and run.truth(at).frames[2].interrupted


def test_files_are_told_as_the_kernel_tells_them() -> None:
    snapshot = testbed.run("leaf_call", arch="arm64", recipe="clang-asm")[0]
    lines = maps_text(snapshot.images).splitlines()
    assert len(lines) == len(snapshot.images[0].image.segments)
    starts = [int(line.split("-")[0], 16) for line in lines]
    assert starts == sorted(starts) and all(start % 0x1000 == 0 for start in starts)
    code = next(line for line in lines if " r-xp " in line)
    start, end = (int(part, 16) for part in code.split()[0].split("-"))
    assert start <= snapshot.pc < end


def test_another_version_of_the_library_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its classes may be laid out in another way."""
    told = {"-L": f"/usr/lib/x/{library._NAME}\n", "-W": "1:34.0.1-1"}
    monkeypatch.setattr(library.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(library, "_printed", lambda *command: told[command[1]])
    find.cache_clear()
    try:
        assert find() is None
        find.cache_clear()
        told["-W"] = "1:29.0.6-28"
        assert find() is not None
    finally:
        find.cache_clear()
