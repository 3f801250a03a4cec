"""Moves from one step of a run to another: what the keys of every stepper do."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from testbed.contract.unwinder import Unwinder
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.words.outcome import Outcome


class Move(Enum):
    """A move; the value is its key and what it does. A difference is new where the step before had not the same one."""

    NEXT = ("n", "next step")
    BACK = ("b", "back")
    NEXT_CALL = ("c", "next call")
    OUT = ("o", "out: back in the caller")
    NEXT_DIFFERENCE = ("d", "next difference")
    FIRST = ("0", "first step")
    LAST = ("$", "last step")

    @property
    def key(self) -> str:
        return self.value[0]

    @property
    def does(self) -> str:
        return self.value[1]


def moved(run: Run, step: int, move: Move, unwinders: Sequence[Unwinder]) -> int:
    """The step that a move leads to; the same step where there is none."""
    last = len(run) - 1
    match move:
        case Move.NEXT:
            return min(step + 1, last)
        case Move.BACK:
            return max(step - 1, 0)
        case Move.FIRST:
            return 0
        case Move.LAST:
            return last
        case Move.NEXT_CALL:
            return next((a.opened for a in run.watched.activations if a.opened > step and a.parent is not None), step)
        case Move.OUT:
            parent = run.watched.activations[int(run.watched.node[step])].parent
            later = (k for k in range(step + 1, last + 1) if int(run.watched.node[k]) == parent)
            return next(later, step)
        case Move.NEXT_DIFFERENCE:
            before = _outcomes(run, step, unwinders)
            for k in range(step + 1, last + 1):
                now = _outcomes(run, k, unwinders)
                if any(b is not a and b is not Outcome.EXACT for a, b in zip(before, now, strict=True)):
                    return k
                before = now
            return step


def _outcomes(run: Run, step: int, unwinders: Sequence[Unwinder]) -> list[Outcome]:
    snapshot = run[step]
    return [judge(run, snapshot, unwinder.unwind(snapshot), unwinder).outcome for unwinder in unwinders]
