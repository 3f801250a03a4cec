"""The shadow call stack: read downwards to its zero word."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import run_program
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, UnreadableMemory
from tests.unwinders.frames import ARM64, snapshot, words
from unwinders.chains.shadow_call_stack import MAX_FRAMES, SECTION, SHADOW_CALL_STACK

SHADOW = 0x9000


def at(*entries: int, first: int = SHADOW) -> Snapshot:
    values = {register.name: 0x7000 for register in ARM64.registers} | {"pc": 0x1010}
    values["x18"] = first + 8 * len(entries)
    return snapshot(ARM64, values, [(first, words(ARM64, *entries))])


def test_the_entries_are_the_callers_innermost_last() -> None:
    said = SHADOW_CALL_STACK.unwind(at(0, 0x1030, 0x1020))
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [0x1010, 0x1020, 0x1030])
    assert dict(said.frames[1].registers) == {"pc": 0x1020}
    assert said.frames[1].found_by == f"shadow stack, at {SHADOW + 16:#x}"


def test_a_shadow_stack_without_its_zero_word_is_an_honest_stop() -> None:
    said = SHADOW_CALL_STACK.unwind(at(0x1030, 0x1020))
    assert isinstance(said.stopped, UnreadableMemory)
    assert [frame.pc for frame in said.frames] == [0x1010, 0x1020, 0x1030]
    assert said.stopped.pc == 0x1030


def test_it_is_bounded() -> None:
    said = SHADOW_CALL_STACK.unwind(at(*([0x1020] * 2000)))
    assert isinstance(said.stopped, NoProgress)
    assert len(said.frames) == MAX_FRAMES


@pytest.mark.parametrize("program", ["mutual_recursion", "recursion"])
def test_clangs_code_fills_it_and_every_body_is_exact(program: str) -> None:
    run = run_program(PROGRAMS[program], ARCHES["arm64"], "clang-O2-scs")
    assert SECTION in run.built.image.sections
    assert SHADOW_CALL_STACK.applies_to(run.built.image)
    deepest = max(range(len(run)), key=lambda step: len(run.truth(step)))
    depth = len(run.truth(deepest))
    assert depth > 4
    exact = [
        step
        for step in range(len(run))
        if [frame.pc for frame in SHADOW_CALL_STACK.unwind(run[step]).frames] == list(run.truth(step).pcs)
    ]
    # A leaf's caller is in the link register, so the deepest stacks may miss one frame; the one above it never does.
    assert any(len(run.truth(step)) >= depth - 1 for step in exact)
    assert not SHADOW_CALL_STACK.applies_to(run_program(PROGRAMS[program], ARCHES["arm64"]).built.image)
