"""A library that dies or hangs takes its own process down, and nothing else."""

from __future__ import annotations

import ctypes
import mmap
import os
import time

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.referee.process.forked_library import forked
from testbed.referee.process.limits import MEMORY
from testbed.runs.run import Run, run_program
from testbed.trace import Snapshot
from testbed.verdicts.one import judge_backtrace
from testbed.words.errors import ToolCrashed, ToolHung, UnreadableMemory
from testbed.words.outcome import Outcome
from tests.referee.process.echo import echo

NO_RESERVE = 0x4000  # MAP_NORESERVE, which the module mmap does not name


@pytest.fixture(scope="module")
def run() -> Run:
    return run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")


def test_one_child_answers_for_a_whole_run_from_the_memory_of_each_snapshot(run: Run) -> None:
    ask = forked(echo)
    answers = [ask(run[step]).frames[0] for step in range(len(run))]
    assert {frame.registers["rax"] for frame in answers} != {os.getpid()}
    assert len({frame.registers["rax"] for frame in answers}) == 1
    assert [frame.registers["rbx"] for frame in answers] == [
        run[step].memory.unsigned(run[step].sp, 8) for step in range(len(run))
    ]
    assert all(frame.cfa == 5 and frame.found_by == "echo" for frame in answers)


def test_a_large_process_leaves_its_child_room(run: Run) -> None:
    """The child is a copy of this process: what is mapped here is no use of its own."""

    def maps_more(snapshot: Snapshot) -> Backtrace:
        mmap.mmap(-1, 1 << 30).close()
        return echo(snapshot)

    reserved = mmap.mmap(-1, MEMORY + (1 << 30), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    try:
        assert forked(maps_more)(run[5]).stopped is None
    finally:
        reserved.close()


def test_memory_far_from_the_stack_is_asked_for_and_unmapped_memory_is_an_error_there(run: Run) -> None:
    def reach(snapshot: Snapshot) -> Backtrace:
        far = snapshot.memory.unsigned(snapshot.sp - 0x8000, 8)
        assert far == 0, "below the stack nothing was written"
        snapshot.memory.unsigned(0x10, 8)
        return echo(snapshot)

    said = forked(reach)(run[5])
    assert isinstance(said.stopped, ToolCrashed), "what the adapter does not catch is a crash of it"
    assert "16" in str(said.stopped) or "0x10" in str(said.stopped)


def test_a_typed_stop_comes_back_as_it_was(run: Run) -> None:
    def stops(snapshot: Snapshot) -> Backtrace:
        stop = UnreadableMemory(0x1234, 8)
        stop.pc = 7
        return Backtrace(echo(snapshot).frames, stop)

    said = forked(stops)(run[3])
    assert isinstance(said.stopped, UnreadableMemory)
    assert str(said.stopped) == "8 bytes at 0x1234 are not mapped"
    assert said.stopped.pc == 7


def test_a_dead_library_is_crashed_with_its_last_words_and_the_next_question_starts_another(run: Run) -> None:
    def dies_at_five(snapshot: Snapshot) -> Backtrace:
        if snapshot.pc == run[5].pc:
            os.write(2, b"assertion failed: five\n")
            ctypes.string_at(0)
        return echo(snapshot)

    ask = forked(dies_at_five)
    assert ask(run[4]).stopped is None
    said = ask(run[5])
    assert isinstance(said.stopped, ToolCrashed)
    assert str(said.stopped) == "was killed by SIGSEGV; it printed: assertion failed: five"
    assert [frame.pc for frame in said.frames] == [run[5].pc]
    assert judge_backtrace(run.arch, run.truth(5), said).outcome is Outcome.CRASHED
    assert ask(run[6]).stopped is None


def test_a_silent_library_is_hung_and_gone(run: Run) -> None:
    def sleeps_at_five(snapshot: Snapshot) -> Backtrace:
        if snapshot.pc == run[5].pc:
            time.sleep(60)
        return echo(snapshot)

    ask = forked(sleeps_at_five, seconds=0.5)
    child = ask(run[4]).frames[0].registers["rax"]
    began = time.monotonic()
    said = ask(run[5])
    assert time.monotonic() - began < 50
    assert isinstance(said.stopped, ToolHung)
    assert judge_backtrace(run.arch, run.truth(5), said).outcome is Outcome.HUNG
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert ask(run[6]).stopped is None


def test_other_images_get_another_child_and_the_first_one_ends(run: Run) -> None:
    def says_who(snapshot: Snapshot) -> Backtrace:
        registers = {snapshot.arch.pc: os.getpid()}
        return Backtrace((Frame(FrameKind.INTERRUPTED, snapshot.pc, registers),), None)

    ask = forked(says_who)
    other = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
    first, second = (ask(each[0]).frames[0].registers[each.arch.pc] for each in (run, other))
    assert first != second
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
