"""One backtrace beside the true frames: what is said to be wrong first, and at which frames it may go wrong."""

import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.native.compiled import native
from testbed.trace import Exited, Trace, Writes
from testbed.truth import Truth
from testbed.truth.model import Activation, Activations
from testbed.truth.sites import SiteFacts
from testbed.verdicts import trace
from testbed.verdicts.trace import verdict_at, verdicts_at
from testbed.verdicts.verdict import Callers
from testbed.words.errors import NoUnwindInfo, UnwindError
from testbed.words.outcome import Outcome

ARCH = ARCHES["x86_64"]
NO_WRITES = Writes(np.zeros(0, np.uint32), np.zeros(0, np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.uint64))


def true(*pcs: int, goes_on: dict[int, int] | None = None, interrupted: int = 0) -> Truth:
    """A run whose last step has these frames; their CFAs are 0x10, 0x20 ... and rbx is the frame's number.

    The frame ``interrupted``, where it is not 0, is one that a signal interrupted.
    """
    steps = len(pcs)  # at each of them the next frame further in opens
    registers = np.zeros((steps, len(ARCH.index)), np.uint64)
    registers[:, ARCH.index["rbx"]], registers[-1, ARCH.index["rip"]] = np.arange(steps, 0, -1), pcs[0]
    frames = range(1, steps)[::-1]  # the caller of each activation
    called = [
        Activation(k, k - 1, pcs[i], 0, 0x10 * i, k + (i == interrupted), i == interrupted, (goes_on or {}).get(pcs[i]))
        for k, i in enumerate(frames, 1)
    ]
    activations = Activations.of([Activation(0, None, None, 0, None, 0), *called])
    trace = Trace(ARCH, (), registers, np.ones(steps, np.uint8), NO_WRITES, (), Exited(0), 0)
    node, never = np.arange(steps, dtype=np.int32), np.zeros(steps, np.bool_)
    return Truth(trace, activations, node, SiteFacts(trace, activations, node, never, never, never), never)


def said(*pcs: int, stopped: UnwindError | None = None, **claims: int) -> Backtrace:
    """A backtrace of these pcs; ``cfa_2`` and ``rbx_2`` are what frame 2 claims, other frames claim a pc only."""
    frames = []
    for i, pc in enumerate(pcs):
        registers = {"rip": pc, **({"rbx": claims[f"rbx_{i}"]} if f"rbx_{i}" in claims else {})}
        frames.append(Frame(FrameKind.CALLER if i else FrameKind.INTERRUPTED, pc, registers, claims.get(f"cfa_{i}")))
    return Backtrace(tuple(frames), stopped)


def compare(truth: Truth, answer: Backtrace) -> tuple[Outcome, int, str, list[int]]:
    """The outcome at the last step, how many frames are right, what is wrong, and the frames at which it may be."""
    found = verdict_at(truth, answer, None, len(truth.node) - 1)
    return found.outcome, found.depth, found.difference, [*range(found.frame, found.since - 1, -1)]


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
    assert compare(true(1, 2, 3), answer) == expected


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
    assert compare(true(*pcs), answer)[3] == frames


def test_a_stop_after_hundreds_of_frames_is_told() -> None:
    pcs = range(1, 302)
    outcome, depth, difference, _ = compare(true(*pcs), said(*pcs[:-1], stopped=STOP))
    assert (outcome, depth, difference) == (Outcome.STOPPED, 300, "after frame 299: NoUnwindInfo: no row")


@pytest.mark.parametrize(
    ("answer", "outcome", "found"),
    [
        (said(1, 0x20, 0x30), Outcome.EXACT, 2),
        (said(1, 0x28, 0x30), Outcome.EXACT, 2),
        (said(1, 0x24, 0x30), Outcome.EXACT, 2),
        (said(1, 0x2C, 0x30), Outcome.WRONG, 1),
        (said(1, 0x1F, 0x30), Outcome.WRONG, 1),
        (said(1, 0x28), Outcome.ENDED_EARLY, 1),
        (said(1, 0x24, 0x24, 0x30), Outcome.PHANTOM, 2),
        (said(0x24, 0x24, 0x30), Outcome.WRONG, 2),  # the interrupted pc was given
    ],
)
def test_where_control_goes_on_elsewhere_either_address_is_right(
    answer: Backtrace, outcome: Outcome, found: int
) -> None:
    truth = true(1, 0x20, 0x30, goes_on={0x20: 0x28})
    assert compare(truth, answer)[0] is outcome
    assert verdict_at(truth, answer, None, 2).callers == Callers(len(answer.frames) - 1, 2, found)


def test_what_a_pc_is_said_to_be_is_a_claim() -> None:
    answer = Backtrace((*said(1, 2).frames, Frame(FrameKind.INTERRUPTED, 3, {"rip": 3})), None)
    why = "frame 2: said to be interrupted, and it is behind a call"
    assert compare(true(1, 2, 3), answer) == (Outcome.WRONG_REGISTER, 2, why, [1])


def test_what_a_signal_interrupted_is_not_behind_a_call() -> None:
    """A frame that a signal interrupted, given as one at a call: names are looked up one instruction too early."""
    truth, why = true(1, 2, 3, 4, interrupted=2), "frame 2: said to be behind a call, and a signal interrupted it"
    assert compare(truth, said(1, 2, 3, 4)) == (Outcome.WRONG_REGISTER, 2, why, [1])
    inner, trampoline, interrupted, outer = said(1, 2, 3, 4).frames
    interrupted = replace(interrupted, kind=FrameKind.INTERRUPTED)
    for kind in FrameKind:  # of the trampoline either will do
        answer = Backtrace((inner, replace(trampoline, kind=kind), interrupted, outer), None)
        assert compare(truth, answer)[0] is Outcome.EXACT


def test_of_a_frame_that_a_signal_interrupted_every_register_is_judged() -> None:
    truth, (inner, trampoline, outer) = true(1, 2, 3, interrupted=2), said(1, 2, 3).frames
    for rax, expected in (
        (0, (Outcome.EXACT, 3, "", [0])),
        (5, (Outcome.WRONG_REGISTER, 2, "frame 2: rax 0x5, not 0x0", [1])),
    ):
        interrupted = Frame(FrameKind.INTERRUPTED, 3, {"rip": 3, "rax": rax})
        assert compare(truth, Backtrace((inner, trampoline, interrupted), None)) == expected
        called = (inner, Frame(FrameKind.CALLER, 2, {"rip": 2, "rax": rax}), replace(outer, kind=interrupted.kind))
        assert compare(truth, Backtrace(called, None))[0] is Outcome.EXACT  # nobody knows a caller's


@pytest.mark.parametrize("compiled", [False, True])
def test_outcomes_and_callers_are_those_of_the_definition(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of a few pcs, many at once: sequences beside one another, by trying out every subsequence."""
    monkeypatch.setattr(trace, "sooner", lambda kernel, much: native(kernel, when=compiled))
    rng = random.Random(1)
    for _ in range(20):
        chain = [rng.randrange(1, 4) for _ in range(rng.randrange(1, 7))]
        truth, steps = true(*chain), [len(chain) - 1] * 400
        pcs = [[chain[0], *(rng.randrange(1, 4) for _ in range(rng.randrange(7)))] for _ in range(400)]
        answers = [said(*each, stopped=rng.choice((None, STOP))) for each in pcs]
        for each, answer, verdict in zip(pcs, answers, verdicts_at(truth, answers, None, steps), strict=True):
            assert (verdict.outcome, verdict.callers.found) == defined(chain, each, answer.stopped is None)


def defined(true: list[int], said: list[int], claims_root: bool) -> tuple[Outcome, int]:
    """The outcome by its definition, and the length of a longest common subsequence of callers."""
    parts = {tuple(part) for size in range(len(true)) for part in combinations(true[1:], size)}
    common = max(s for s in range(len(said)) for part in combinations(said[1:], s) if part in parts)
    if said == true[: len(said)] and not claims_root:
        return Outcome.REFUSED if len(said) == 1 < len(true) else Outcome.STOPPED, common
    if said == true[: len(said)]:
        return Outcome.EXACT if said == true else Outcome.ENDED_EARLY, common
    part_of_truth, holds_truth = common == len(said) - 1, common == len(true) - 1
    return Outcome.SKIPPED if part_of_truth else Outcome.PHANTOM if holds_truth else Outcome.WRONG, common
