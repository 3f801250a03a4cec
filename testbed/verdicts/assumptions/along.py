"""An assumption evaluated along the true stack, frame by frame: it holds, or fails at one frame by one clause.

A *reading* says what a technique comes by at frame 0, then, that having been right, at frame 1, and so on. It is
written once more here, from the assumption alone, and shares nothing with the technique. What it comes by is held
against the truth: the first difference is the clause that fails, and what the technique must say there.

Of an answer beside that, three things are asked:

* theorem: the assumption holds at frames 0 to k, so frames 0 to k + 1 of the answer are right;
* converse: it fails at frame k, so the answer goes wrong there;
* foretelling: there the answer says what the clause that fails foretells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from testbed.contract.assumption import BEHIND, CFA, END, KIND, MOST, REGISTER, Clause
from testbed.contract.frames import Backtrace, FrameKind
from testbed.contract.unwinder import HeldTo
from testbed.trace import Snapshot
from testbed.truth import CallStack, TrueFrame, Truth
from testbed.words.outcome import Outcome

Filling = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FoundCaller:
    """What a technique comes by at one frame: the caller, and this frame's CFA where it says one.

    ``clause`` is what fails if ``pc`` is not where the caller goes on. ``how`` are the words before the pc, ``by`` what
    gave the rest; either may be a value that is made into words when they are printed. ``registers`` are those that are
    claimed besides pc. ``at`` is where a word of the stack was found.
    """

    pc: int
    clause: Clause
    how: object
    registers: Mapping[str, int] = field(default_factory=dict)
    cfa: int | None = None
    by: object = ""
    kind: FrameKind = FrameKind.CALLER
    at: int | None = None

    def __str__(self) -> str:
        return f"{self.pc:#x}"

    def is_said(self, said: Backtrace, frame: int) -> bool:
        """True where an answer says all of this behind ``frame``."""
        if len(said.frames) <= frame + 1:
            return False
        here, caller = said.frames[frame : frame + 2]
        named = {name: value for name, value in self.registers.items() if caller.registers.get(name) != value}
        return (here.cfa, caller.pc, caller.kind, named) == (self.cfa, self.pc, self.kind, {})


@dataclass(frozen=True, slots=True)
class ForetoldEnd:
    """That a technique comes by no caller at a frame, by which clause: it ``stops``, or claims the root."""

    clause: Clause
    stops: bool
    evidence: Filling = field(default_factory=dict)

    def __str__(self) -> str:
        return "stop" if self.stops else "root"

    def is_said(self, said: Backtrace, frame: int) -> bool:
        """True where an answer ends at ``frame``, in this way."""
        return len(said.frames) == frame + 1 and (said.stopped is not None) is self.stops


ReadAlong = Iterator[FoundCaller | ForetoldEnd]


@dataclass(frozen=True, slots=True)
class Failed:
    """The frame at which an assumption fails, counted from the innermost, and by which clause.

    ``foretold`` is what the technique must say there; None: that is not known. The evidence is filled into the words of
    the clause.
    """

    frame: int
    clause: Clause
    foretold: FoundCaller | ForetoldEnd | None
    evidence: Filling


@dataclass(frozen=True, eq=False)
class TrueSite:
    """One instant of a run: what a technique is given, and the truth about it."""

    snapshot: Snapshot
    stack: CallStack
    watched: Truth | None = None  # the whole run, for an assumption that asks what else it shows

    @property
    def frames(self) -> tuple[TrueFrame, ...]:
        return self.stack.frames


def check_assumption(site: TrueSite, come_by: ReadAlong) -> Failed | None:
    """Where an assumption fails along the true stack; None where it holds at every frame."""
    for k in range(len(site.frames)):
        failed = _held_against(site, k, next(come_by))
        if failed is not None:
            return failed
    return None


def too_deep(k: int, most: int, *, stops: bool) -> Iterator[ForetoldEnd]:
    """The end of a technique that takes so many frames at most, at frame ``k``; nothing where there is room."""
    if k + 1 >= most:
        yield ForetoldEnd(MOST, stops, {"frame": str(k), "most": str(most)})


def _held_against(site: TrueSite, k: int, come_by: FoundCaller | ForetoldEnd) -> Failed | None:
    """The first difference between what is come by at frame ``k`` and the truth: the gravest first."""
    here, caller = site.frames[k], site.frames[k + 1] if k + 1 < len(site.frames) else None

    def failed(clause: Clause, **evidence: object) -> Failed:
        known: dict[str, object] = {"here": here.pc}
        if caller is not None:
            known["true"] = caller.pc if caller.goes_on is None else caller.goes_on
        if isinstance(come_by, FoundCaller):
            known |= {"how": come_by.how, "by": come_by.by, "found": come_by.pc}
        return Failed(k, clause, come_by, known | evidence)

    if isinstance(come_by, ForetoldEnd):
        return None if caller is None and not come_by.stops else failed(come_by.clause, **come_by.evidence)
    if caller is None:
        return failed(END)
    if not caller.is_at(come_by.pc):
        return failed(come_by.clause)
    if caller.interrupted and come_by.kind is FrameKind.CALLER:
        return failed(KIND)
    if caller.calling and come_by.kind is FrameKind.INTERRUPTED:
        return failed(BEHIND)
    if come_by.cfa is not None and here.cfa is not None and come_by.cfa != here.cfa:
        return failed(CFA, found=come_by.cfa, true=here.cfa)
    arch = site.snapshot.arch
    if all(caller.registers.get(name, found) == found for name, found in come_by.registers.items()):
        return None
    for name, true in caller.registers.items():
        found = come_by.registers.get(name)
        if name not in (arch.pc, arch.flags) and found is not None and found != true:
            return failed(REGISTER, register=name, found=found, true=true)
    return None


class Accord(Enum):
    """How an answer stands to what its unwinder is held to."""

    HOLDS = "the assumption holds at every frame, and the answer is exact"
    FAILS = "the assumption fails at a frame, and the answer goes wrong there, as foretold"
    LUCK = "the assumption fails at a frame, and the answer is right there all the same"
    UNFOUNDED = "the answer is wrong at a frame at which the assumption holds"
    OTHERWISE = "the assumption fails at a frame, and the answer goes wrong elsewhere or otherwise than foretold"
    OPEN = "what the trace shows does not decide: open"
    UNASKED = "one answer among many alike: the assumption was evaluated at others of them"
    HONEST = "no assumption is stated, and nothing false is claimed"
    DISHONEST = "no assumption is stated, and something false is claimed, or there is no answer"
    UNCLAIMED = "of this tool nothing is claimed"

    @property
    def unexplained(self) -> bool:
        """True where a run of the unwinder fails."""
        return self in (Accord.UNFOUNDED, Accord.OTHERWISE, Accord.DISHONEST)


def accord(held_to: HeldTo, outcome: Outcome, frames: Sequence[int], said: Backtrace, failed: Failed | None) -> Accord:
    """How an answer stands to what its unwinder is held to.

    ``frames`` are those at which it may go wrong (`testbed.verdicts.one`); ``failed`` is where the assumption
    fails, None where it holds at every frame.
    """
    if held_to is HeldTo.COUNTS:
        return Accord.UNCLAIMED
    if held_to is HeldTo.HONESTY:
        dead = outcome in (Outcome.CRASHED, Outcome.HUNG)
        return Accord.DISHONEST if outcome.lying or dead else Accord.HONEST
    stands = _beside_an_assumption(outcome, frames, said, failed)
    return Accord.OPEN if held_to is HeldTo.OPEN and stands not in (Accord.HOLDS, Accord.FAILS) else stands


def _beside_an_assumption(outcome: Outcome, frames: Sequence[int], said: Backtrace, failed: Failed | None) -> Accord:
    if outcome is Outcome.EXACT:
        return Accord.HOLDS if failed is None else Accord.LUCK
    if failed is None or max(frames) < failed.frame:
        return Accord.UNFOUNDED
    if failed.frame not in frames:  # it is right where it should not be, and wrong further out
        return Accord.OTHERWISE
    foretold = failed.foretold is None or failed.foretold.is_said(said, failed.frame)
    return Accord.FAILS if foretold else Accord.OTHERWISE
