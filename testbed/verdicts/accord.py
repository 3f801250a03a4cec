"""How an answer stands to the assumption of its technique: three things are asked of it.

* theorem: the assumption holds at frames 0 to k, so frames 0 to k + 1 of the answer are right;
* converse: it fails at frame k, so the answer goes wrong there;
* foretelling: there the answer says what the clause that fails foretells.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from testbed.contract.unwinder import Backtrace, HeldTo
from testbed.verdicts.assumptions.along import Failed
from testbed.words.outcome import Outcome


class Accord(Enum):
    """How an answer stands to what its unwinder is held to."""

    HOLDS = "the assumption holds at every frame, and the answer is exact"
    FAILS = "the assumption fails at a frame, and the answer goes wrong there, as foretold"
    LUCK = "the assumption fails at a frame, and the answer is right there all the same"
    UNFOUNDED = "the answer is wrong at a frame at which the assumption holds"
    OTHERWISE = "the assumption fails at a frame, and the answer goes wrong elsewhere or otherwise than foretold"
    OPEN = "what the trace shows does not decide: open"
    HONEST = "no assumption is stated, and nothing false is claimed"
    DISHONEST = "no assumption is stated, and something false is claimed, or there is no answer"
    UNCLAIMED = "not explained: nothing is claimed of a closed tool"

    @property
    def unforetold(self) -> bool:
        """True where an assumption is stated, and the answer is not what it foretells."""
        return self in (Accord.UNFOUNDED, Accord.OTHERWISE)

    @property
    def unexplained(self) -> bool:
        """True where a run of the unwinder fails."""
        return self.unforetold or self is Accord.DISHONEST


def accord(held_to: HeldTo, outcome: Outcome, frames: Sequence[int], said: Backtrace, failed: Failed | None) -> Accord:
    """How an answer stands to what its unwinder is held to.

    ``frames`` are those at which it may go wrong (`testbed.verdicts.one`); ``failed`` is where the assumption
    fails, None where it holds at every frame.
    """
    foretold = failed is not None and (failed.foretold is None or failed.foretold.is_said(said, failed.frame))
    return standing(held_to, outcome, frames, None if failed is None else failed.frame, foretold)


def standing(held_to: HeldTo, outcome: Outcome, frames: Sequence[int], at: int | None, foretold: bool) -> Accord:
    """The same; ``at`` is the frame at which the assumption fails, and the answer says there what is ``foretold``."""
    if held_to is HeldTo.COUNTS:
        return Accord.UNCLAIMED
    if held_to is HeldTo.HONESTY:
        dead = outcome in (Outcome.CRASHED, Outcome.HUNG)
        return Accord.DISHONEST if outcome.lying or dead else Accord.HONEST
    stands = _beside_an_assumption(outcome, frames, at, foretold)
    return Accord.OPEN if held_to is HeldTo.OPEN and stands not in (Accord.HOLDS, Accord.FAILS) else stands


def _beside_an_assumption(outcome: Outcome, frames: Sequence[int], at: int | None, foretold: bool) -> Accord:
    if outcome is Outcome.EXACT:
        return Accord.HOLDS if at is None else Accord.LUCK
    if at is None or max(frames) < at:
        return Accord.UNFOUNDED
    if at not in frames:  # it is right where it should not be, and wrong further out
        return Accord.OTHERWISE
    return Accord.FAILS if foretold else Accord.OTHERWISE
