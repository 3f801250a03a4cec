"""Python functions of others that misbehave: each thing that they do is an outcome, and nobody else sees it."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import testbed
from testbed import Backtrace, Frame, FrameKind, Snapshot
from testbed.cli.plugins import MOST_HANGS, guarded
from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung, UnwindError


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return testbed.run("leaf_call", arch="x86_64").trace.snapshot(3)


def top(at: Snapshot) -> Frame:
    return Frame(FrameKind.INTERRUPTED, at.pc, at.registers)


def caller(pc: Any, registers: Any, **more: Any) -> Callable[[Snapshot], Backtrace]:
    return lambda at: Backtrace((top(at), Frame(FrameKind.CALLER, pc, registers, **more)), None)


def raises(_: Snapshot) -> Backtrace:
    raise KeyError("x" * 10000 + "\x1b[31m")


def leaves(_: Snapshot) -> Backtrace:
    raise SystemExit(0)


BROKEN: dict[str, tuple[Callable[[Snapshot], Any], type[UnwindError], str]] = {
    "raises": (raises, ToolCrashed, "it raised KeyError: 'xxx"),
    "leaves": (leaves, ToolCrashed, "it raised SystemExit: 0 ("),
    "recurses": (lambda at: BROKEN["recurses"][0](at), ToolCrashed, "it raised RecursionError"),
    "says nothing": (lambda at: None, BrokenAnswer, "it returned NoneType, not a Backtrace"),
    "frames are a generator": (
        lambda at: Backtrace((top(at) for _ in "a"), None),  # type: ignore[arg-type]
        BrokenAnswer,
        "the frames that it returned are a generator, not a tuple",
    ),
    "no frames": (lambda at: Backtrace((), None), BrokenAnswer, "it returned 0 frames: from 1 to 4096"),
    "too many": (lambda at: Backtrace((top(at),) * 5000, None), BrokenAnswer, "it returned 5,000 frames"),
    "no frame": (lambda at: Backtrace((at,), None), BrokenAnswer, "frame 0 is Snapshot: a Frame"),  # type: ignore[arg-type]
    "stops with a text": (lambda at: Backtrace((top(at),), "no"), BrokenAnswer, "`stopped` is str"),  # type: ignore[arg-type]
    "pc is a text": (caller("0x10", {}), BrokenAnswer, "pc of frame 1 is str: no number of 64 bits"),
    "pc below zero": (caller(-1, {}), BrokenAnswer, "pc of frame 1 is -1: no number of 64 bits"),
    "cfa too large": (caller(1, {}, cfa=1 << 64), BrokenAnswer, "cfa of frame 1 is 18446744073709551616"),
    "registers are a list": (caller(1, ["rip"]), BrokenAnswer, "registers of frame 1 are list, not a mapping"),
    "a register that is none": (caller(1, {"\x1b[2J": 1}), BrokenAnswer, "which x86_64 has not"),
    "a register is true": (caller(1, {"rbp": True}), BrokenAnswer, "rbp of frame 1 is True: no number"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_answer_is_an_outcome(what: str, snapshot: Snapshot) -> None:
    function, kind, told = BROKEN[what]
    said = guarded(function)(snapshot)
    assert type(said.stopped) is kind
    assert told in str(said.stopped)
    assert len(str(said.stopped)) < 600
    assert str(said.stopped).isprintable()
    assert [frame.pc for frame in said.frames] == [snapshot.pc]


def test_what_it_changes_is_a_copy(snapshot: Snapshot) -> None:
    def changes(at: Snapshot) -> Backtrace:
        at.registers["rip"] = 0  # type: ignore[index]
        object.__setattr__(at, "images", ())
        return Backtrace((top(at),), None)

    before = dict(snapshot.registers), snapshot.images
    guarded(changes)(snapshot)
    assert (dict(snapshot.registers), snapshot.images) == before


def test_one_that_never_returns_hangs_and_is_left_alone_after_some_times(snapshot: Snapshot) -> None:
    asked = []

    def loops(at: Snapshot) -> Backtrace:
        asked.append(at)
        while True:
            with suppress(Exception):
                sum(range(1000))

    ask = guarded(loops, seconds=0.02)
    for _ in range(MOST_HANGS):
        said = ask(snapshot)
        assert isinstance(said.stopped, ToolHung)
        # Where it was: in the loop itself, or in what the loop calls.
        where = re.fullmatch(r"it gave no answer within 0\.02 s \((.+):\d+\)", str(said.stopped))
        assert where and where[1] in (__file__, contextlib.__file__)
    assert "it is not asked any more: 3 times" in str(ask(snapshot).stopped)
    assert len(asked) == MOST_HANGS
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupt_stays_the_users(snapshot: Snapshot) -> None:
    def interrupted(_: Snapshot) -> Backtrace:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted)(snapshot)
