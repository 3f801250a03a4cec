"""One backtrace beside the true frames: what is said to be wrong first, and at which frames it may go wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.arch import ARCHES
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.truth import TrueFrame
from testbed.verdicts.one import claimed_pcs, compare
from testbed.words.errors import NoUnwindInfo, UnwindError
from testbed.words.outcome import Outcome

ARCH = ARCHES["x86_64"]


def true(*pcs: int, goes_on: dict[int, int] | None = None) -> list[TrueFrame]:
    """Frames with these pcs; their CFAs are 0x10, 0x20 ... and rbx is the frame's number."""
    return [
        TrueFrame(pc, 0x10 * (i + 1), {"rip": pc, "rsp": 0x10 * i, "rbx": i}, i, i > 0, False, (goes_on or {}).get(pc))
        for i, pc in enumerate(pcs)
    ]


def said(*pcs: int, stopped: UnwindError | None = None, **claims: int) -> Backtrace:
    """A backtrace of these pcs; ``cfa_2`` and ``rbx_2`` are what frame 2 claims, other frames claim a pc only."""
    frames = []
    for i, pc in enumerate(pcs):
        registers = {"rip": pc, **({"rbx": claims[f"rbx_{i}"]} if f"rbx_{i}" in claims else {})}
        frames.append(Frame(FrameKind.CALLER if i else FrameKind.INTERRUPTED, pc, registers, claims.get(f"cfa_{i}")))
    return Backtrace(tuple(frames), stopped)


STOP = NoUnwindInfo("no row")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (said(1, 2, 3), (Outcome.EXACT, 3, "", [0])),
        (said(1, 2, 4), (Outcome.WRONG, 2, "frame 2: 0x4, not 0x3", [1])),
        (said(1, 4), (Outcome.WRONG, 1, "frame 1: 0x4, not 0x2", [0])),
        (said(1, 2, 3, 4), (Outcome.PHANTOM, 3, "frame 3: 0x4 never was", [2])),
        (said(1, 3), (Outcome.SKIPPED, 1, "frame 1: 0x3, not 0x2", [0])),
        (said(1, 2), (Outcome.ENDED_EARLY, 2, "frame 1 is not the root", [1])),
        (said(1), (Outcome.ENDED_EARLY, 1, "frame 0 is not the root", [0])),
        (said(1, 2, stopped=STOP), (Outcome.STOPPED, 2, "after frame 1: NoUnwindInfo: no row", [1])),
        (said(1, stopped=STOP), (Outcome.REFUSED, 1, "after frame 0: NoUnwindInfo: no row", [0])),
        (said(1, 2, 3, stopped=STOP), (Outcome.STOPPED, 3, "after frame 2: NoUnwindInfo: no row", [2])),
        (said(2), (Outcome.WRONG, 0, "the innermost frame is not the interrupted one", [0])),
        (said(1, 2, 3, cfa_1=0x28), (Outcome.WRONG_REGISTER, 1, "frame 1: CFA 0x28, not 0x20", [1])),
        (said(1, 2, 3, rbx_2=9), (Outcome.WRONG_REGISTER, 2, "frame 2: rbx 0x9, not 0x2", [1])),
        (said(1, 2, 3, rbx_2=9, cfa_2=8), (Outcome.WRONG_REGISTER, 2, "frame 2: rbx 0x9, not 0x2", [1])),
        (said(1, 2, 3, rbx_0=9), (Outcome.EXACT, 3, "", [0])),  # the interrupted frame's were given
        (said(1, 2, rbx_1=9), (Outcome.ENDED_EARLY, 1, "frame 1: rbx 0x9, not 0x1", [0])),
        (said(1, 2, rbx_1=9, stopped=STOP), (Outcome.WRONG_REGISTER, 1, "frame 1: rbx 0x9, not 0x1", [0])),
    ],
)
def test_what_is_wrong_first_and_at_which_frame_it_went_wrong(
    answer: Backtrace, expected: tuple[Outcome, int, str, list[int]]
) -> None:
    outcome, depth, difference, frames = compare(ARCH, true(1, 2, 3), answer)
    assert (outcome, depth, difference, list(frames)) == expected


LAPS = (1, 7, 7, 7, 7, 3)


@pytest.mark.parametrize(
    ("pcs", "answer", "frames"),
    [
        (LAPS, said(1, 7, 7, 7, 3), [3, 2, 1, 0]),  # one of four laps is missing: any of these frames may have lost it
        (LAPS, said(1, 7, 7, 7, 7, 7, 3), [4, 3, 2, 1, 0]),  # and one too many may have come from any
        (
            LAPS,
            said(1, 7, 7, 7, 3, cfa_3=0x40, cfa_2=0x30),
            [3],
        ),  # who claims more than a pc can be told from its neighbours
        (LAPS, said(1, 7, 7, 7, 3, cfa_2=0x30), [3, 2]),
        (LAPS, said(1, 7, 7, 7, 7), [4, 3, 2, 1, 0]),
        ((7, 7, 3), said(7, 7, 4), [1]),  # one return address that is the interrupted pc is not repeated
        # Recursion at its return address: no frame further in than the innermost may be the one.
        ((7, 7, 7, 3), said(7, 7, 4), [1, 0]),
    ],
)
def test_among_equal_return_addresses_any_frame_may_be_the_one(
    pcs: tuple[int, ...], answer: Backtrace, frames: list[int]
) -> None:
    assert list(compare(ARCH, true(*pcs), answer)[3]) == frames


def test_a_stop_after_hundreds_of_frames_is_told() -> None:
    pcs = range(1, 302)
    outcome, depth, difference, _ = compare(ARCH, true(*pcs), said(*pcs[:-1], stopped=STOP))
    assert (outcome, depth, difference) == (Outcome.STOPPED, 300, "after frame 299: NoUnwindInfo: no row")


def test_where_control_goes_on_elsewhere_either_address_is_right() -> None:
    frames = true(1, 0x20, 0x30, goes_on={0x20: 0x28})
    for pc, right in ((0x20, True), (0x28, True), (0x24, True), (0x2C, False), (0x1F, False)):
        assert (compare(ARCH, frames, said(1, pc, 0x30))[0] is Outcome.EXACT) is right, hex(pc)
    assert claimed_pcs(frames, said(0x24, 0x24, 0x30).frames) == [0x24, 0x20, 0x30]  # the interrupted pc was given
    assert claimed_pcs(frames, said(1, 0x28, 0x28).frames) == [1, 0x20, 0x20]


def test_what_a_pc_is_said_to_be_is_a_claim() -> None:
    frames = true(1, 2, 3)
    answer = Backtrace((*said(1, 2).frames, Frame(FrameKind.INTERRUPTED, 3, {"rip": 3})), None)
    outcome, depth, difference, at = compare(ARCH, frames, answer)
    assert (outcome, depth, list(at)) == (Outcome.WRONG_REGISTER, 2, [1])
    assert difference == "frame 2: said to be interrupted, and it is behind a call"


def test_what_a_signal_interrupted_is_not_behind_a_call() -> None:
    """A frame that a signal interrupted, given as one at a call: names are looked up one instruction too early."""
    *inner, outer = true(1, 2, 3)
    frames = (*inner, replace(outer, calling=False, interrupted=True))
    outcome, depth, difference, at = compare(ARCH, frames, said(1, 2, 3))
    assert (outcome, depth, list(at)) == (Outcome.WRONG_REGISTER, 2, [1])
    assert difference == "frame 2: said to be behind a call, and a signal interrupted it"
