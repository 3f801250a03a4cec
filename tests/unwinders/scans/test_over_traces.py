"""Scanning over a whole trace says what scanning each snapshot says, word for word."""

from dataclasses import replace

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from tests.unwinders.said import said
from unwinders import UNWINDERS
from unwinders.scans import scan_walk
from unwinders.scans.scan_walk import Scan, by_scan, scan


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", ["stack_scan", "stack_scan_strict", "stack_scan_breakpad"])
def test_programs_with_more_than_one_stack(name: str, arch: str) -> None:
    """Two stacks, stacks that move, code on the stack, handlers."""
    unwinder = UNWINDERS[name]
    assert unwinder.unwind_trace is not None
    for program in ("coroutine", "coroutine_open", "longjmp", "other_stack", "signal", "trampoline"):
        if ARCHES[arch] not in PROGRAMS[program].arches():
            continue
        trace = run_program(PROGRAMS[program], ARCHES[arch]).trace
        over = unwinder.unwind_trace(trace)
        for step in range(0, len(trace), max(1, len(trace) // 60)):
            assert said(over[step]) == said(unwinder.unwind(trace.snapshot(step))), (program, step)


@pytest.mark.parametrize(
    ("first", "later", "frames"), [(1, 4, 1024), (3, 2, 1024), (64, 1, 1024), (5, 5, 1024), (64, 64, 4)]
)
def test_a_scan_gives_up_after_as_many_words(
    first: int, later: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is plausible is believed here, so that the bounds decide where a chain ends."""
    options = Scan(first, later, lambda snapshot, value, frame: True, claims_sp=True)
    monkeypatch.setattr(scan_walk, "MAX_FRAMES", frames)
    run = run_program(PROGRAMS["recursion"], ARCHES["arm64"])
    unwinder = by_scan(options, name="scan", summary="")
    over = unwinder.unwind_trace(run.trace)
    ends = set()
    for step in range(0, len(run), 11):
        alone = scan(run.trace.snapshot(step), options)
        assert (said(over[step]), over[step].images) == (said(alone), alone.images)
        assert over.depth(step) == len(alone.frames)
        ends.add(type(alone.stopped).__name__)
    assert "NoUnwindInfo" in ends


def test_a_stack_pointer_that_points_nowhere_is_told_as_such() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"])
    trace = run.trace
    registers = trace.registers.copy()
    registers[5, trace.arch.index[trace.arch.sp]] = 0x10
    moved = replace(trace, registers=registers)
    unwinder = UNWINDERS["stack_scan"]
    over = unwinder.unwind_trace(moved)
    for step in range(4, 8):
        assert said(over[step]) == said(unwinder.unwind(moved.snapshot(step)))
    assert "UnreadableMemory" in repr(over[5].stopped)
