"""Functions that left an activation by a tail call: the part of the history that the stack does not keep.

A departure is a tail call (`Watched.tail_calls`) to another function. The kind of jump does not matter, and to fall
into the next function is one too. Symbols say only where functions begin and what they are called. A jump into the
middle of another function is no call: the activation has changed its code without a source that could say so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from testbed.truth.model import TrueFrame
from testbed.truth.truth import Truth
from testbed.truth.watched import NO_FUNCTION


@dataclass(frozen=True, slots=True)
class TrueCalls:
    """One physical frame's logical truth: the entry of the function there, and of those that tail-called away.

    ``function`` is None where no symbol says; ``gone`` is innermost first: the one that left last comes first.
    """

    function: int | None
    gone: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Departures:
    """Per activation, the steps at which another function took it over, and which ones had it before."""

    truth: Truth
    steps: Mapping[int, tuple[int, ...]] = field(repr=False)
    entries: Mapping[int, tuple[int, ...]] = field(repr=False)

    def calls(self, step: int) -> tuple[TrueCalls, ...]:
        """The logical truth at a step, one per frame of ``truth.stack(step)``."""
        out = []
        at = step
        for frame in self.truth.stack(step).frames:
            out.append(self._calls(frame, at))
            at = self.truth.activations[frame.activation].opened - 1
        return tuple(out)

    def _calls(self, frame: TrueFrame, step: int) -> TrueCalls:
        # No step of its own stands for a trampoline under a handler, nor for the instruction that a signal came before.
        here = int(self.truth.functions[step]) if frame.calling else self.truth.whole_function(frame.pc)
        left = bisect_right(self.steps.get(frame.activation, ()), step)
        gone = self.entries.get(frame.activation, ())[:left]
        return TrueCalls(None if here == NO_FUNCTION else here, tuple(reversed(gone)))

    @cached_property
    def count(self) -> int:
        """How many tail calls were watched."""
        return sum(map(len, self.steps.values()))


def find_departures(truth: Truth) -> Departures:
    """Every watched tail call of a run to another function."""
    entry = truth.functions
    steps: dict[int, tuple[int, ...]] = {}
    entries: dict[int, tuple[int, ...]] = {}
    for step in truth.tail_calls.tolist():
        if entry[step - 1] not in (NO_FUNCTION, entry[step]):
            index = int(truth.node[step])
            steps[index] = (*steps.get(index, ()), step)
            entries[index] = (*entries.get(index, ()), int(entry[step - 1]))
    return Departures(truth, steps, entries)
