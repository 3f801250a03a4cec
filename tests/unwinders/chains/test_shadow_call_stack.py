"""The shadow call stack: read downwards to its zero word."""

from __future__ import annotations

from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, UnreadableMemory
from tests.unwinders.frames import ARM64, snapshot, words
from unwinders.chains.shadow_call_stack import MAX_FRAMES, SHADOW_CALL_STACK

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
