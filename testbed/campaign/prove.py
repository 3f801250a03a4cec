"""Two witnesses of the truth, step by step: what was watched by effect, and what follows from the values.

They agree on a step if both have the same frames: the same sequence of (where it goes on, CFA, the step at which its
callee began), innermost first. A caller's registers are those that its callee began with: so they are the same, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.campaign.cells import Unit
from testbed.image import describe
from testbed.trace import Trace
from testbed.truth import Truth
from testbed.witness import Testimony, Whereabouts, attest


@dataclass(frozen=True, slots=True)
class Dissent:
    """Neighbouring steps at which the two say different things: the first of them, and both answers there."""

    step: int
    steps: int
    where: str
    truth: str
    witness: str

    def __str__(self) -> str:
        return (
            f"at {self.steps} steps from {self.step}, {self.where}\n"
            f"  watched by effect: {self.truth}\n  by provenance:     {self.witness}"
        )


@dataclass(frozen=True, slots=True)
class Proof:
    """One run, compared: ``steps`` = ``agreed`` + ``transition`` + ``undecided`` + ``disagreed``.

    ``transition`` are the steps without a single right answer at which the two differ; at others of them they agree.
    ``undecided`` are the same of those of which no effect tells whose they are.
    ``unfollowed`` are returns that the witness sees by SP alone: it proves nothing there.
    """

    steps: int
    agreed: int
    transition: int
    disagreed: int
    unfollowed: int = 0
    undecided: int = 0
    dissents: tuple[Dissent, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class UnitProof:
    """What became of a unit: its comparison, or why there is none (``skipped``: a tool is missing; ``failed``)."""

    unit: Unit
    proof: Proof | None = None
    skipped: str = ""
    failed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Proof):
    """All proofs of some units together, and how many units were skipped or failed."""

    units: int
    skipped: int
    failed: int
    seconds: float


def total(proofs: Sequence[UnitProof]) -> Sum:
    """The sum of what was compared in several units."""
    compared = [each.proof for each in proofs if each.proof is not None]
    return Sum(
        units=len(proofs),
        skipped=sum(bool(each.skipped) for each in proofs),
        failed=sum(bool(each.failed) for each in proofs),
        steps=sum(proof.steps for proof in compared),
        agreed=sum(proof.agreed for proof in compared),
        transition=sum(proof.transition for proof in compared),
        disagreed=sum(proof.disagreed for proof in compared),
        unfollowed=sum(proof.unfollowed for proof in compared),
        undecided=sum(proof.undecided for proof in compared),
        seconds=sum(each.seconds for each in proofs),
    )


def prove_unit(unit: Unit, truth: Truth) -> UnitProof:
    """Compare the two on a run, and say how long the witness took."""
    begun = time.perf_counter()
    testimony = attest(truth.trace)
    seconds = time.perf_counter() - begun
    return UnitProof(unit, prove(truth, testimony), seconds=seconds)


def prove(truth: Truth, testimony: Testimony | None = None) -> Proof:
    """Compare the truth about a trace with what the witness says of it, at every step."""
    said = attest(truth.trace) if testimony is None else testimony
    differs = differing(truth, said)
    wrong = differs & ~truth.transition
    count, different, disagreed = len(truth.trace), int(differs.sum()), int(wrong.sum())
    undecided = int((differs & truth.undecided).sum())
    return Proof(
        steps=count,
        agreed=count - different,
        transition=different - disagreed - undecided,
        undecided=undecided,
        disagreed=disagreed,
        unfollowed=len(said.unfollowed),
        dissents=tuple(_dissents(truth, said, wrong)),
    )


def differing(truth: Truth, said: Testimony) -> NDArray[np.bool_]:
    """The steps at which the frames are not the same.

    A chain of activations is a number: the same for an equal (chain further out, where it goes on, CFA, first step).
    """
    if not len(truth.trace):
        return np.zeros(0, np.bool_)
    numbers: dict[tuple[int, int, int, int], int] = {}
    by_effect = [(a.parent, a.return_address, a.cfa, a.opened) for a in truth.activations]
    by_value = [(a.parent, a.address, a.cfa, a.opened) for a in said.activations]
    watched, seen = _chains(numbers, by_effect), _chains(numbers, by_value)
    different: NDArray[np.bool_] = watched[truth.node] != seen[said.node]
    return different


def _chains(
    numbers: dict[tuple[int, int, int, int], int], rows: Sequence[tuple[int | None, int | None, int | None, int]]
) -> NDArray[np.int64]:
    """The number of each activation's chain; a parent comes before its children. All bottoms are alike."""
    found: list[int] = []
    for parent, address, cfa, opened in rows:
        key = (-1, 0, 0, 0) if parent is None else (found[parent], address or 0, cfa or 0, opened)
        found.append(numbers.setdefault(key, len(numbers)))
    return np.array(found, np.int64)


def _dissents(truth: Truth, said: Testimony, wrong: NDArray[np.bool_]) -> Iterator[Dissent]:
    """Neighbouring steps with the same two answers, once."""
    trace = truth.trace
    places = np.flatnonzero(wrong).tolist()
    i = 0
    while i < len(places):
        step, end = places[i], i + 1
        both = (truth.node[step], said.node[step])
        while end < len(places) and places[end] == places[end - 1] + 1:
            if (truth.node[places[end]], said.node[places[end]]) != both:
                break
            end += 1
        pc = int(trace.pc[step])
        watched = [
            Whereabouts(frame.pc, frame.cfa, truth.activations[frame.activation].opened, frame.calling)
            for frame in truth.stack(step).frames
        ]
        where = describe(trace.images, pc)
        yield Dissent(step, end - i, where, _told(trace, watched), _told(trace, said.frames(step, pc)))
        i = end


def _told(trace: Trace, frames: Iterable[Whereabouts]) -> str:
    """``leaf (CFA 0x7ff0, from step 17 on) < main+0x10 (CFA 0x8000, from step 4 on) < _start+0xc``."""
    return " < ".join(
        describe(trace.images, frame.pc, caller=frame.calling)
        + (f" (CFA {frame.cfa:#x}, from step {frame.opened} on)" if frame.cfa else "")
        for frame in frames
    )
