"""Functions that left an activation by a tail call: the part of the history that the stack does not keep.

A step is a tail call when, inside one activation,

* control goes from the code of one function to the *first instruction* of another, and
* SP is what it was at the activation's first step: the frame was given up.

The jump's kind does not matter, and falling into the next function is one too. Symbols say only where functions begin
and what they are called; a piece that was split off (``f.cold``) belongs to its function. A jump into the middle of
another function is no call: the activation has changed its code without a source that could say so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.image import Symbol, image_covering
from testbed.trace import Trace
from testbed.truth.model import TrueFrame
from testbed.truth.truth import Truth

NO_FUNCTION = -1


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
    entry: NDArray[np.int64] = field(repr=False)  # per step: where the function begins that executes it
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
        here = int(self.entry[step]) if frame.calling else _entry(self.truth.trace, frame.pc)
        left = bisect_right(self.steps.get(frame.activation, ()), step)
        gone = self.entries.get(frame.activation, ())[:left]
        return TrueCalls(None if here == NO_FUNCTION else here, tuple(reversed(gone)))

    @cached_property
    def count(self) -> int:
        """How many tail calls were watched."""
        return sum(map(len, self.steps.values()))


def find_departures(truth: Truth) -> Departures:
    """Every watched tail call of a run."""
    trace = truth.trace
    entry = _entries(trace)
    steps: dict[int, tuple[int, ...]] = {}
    entries: dict[int, tuple[int, ...]] = {}
    same = truth.node[1:] == truth.node[:-1]
    other = (entry[1:] != entry[:-1]) & (entry[1:] == trace.pc[1:].astype(np.int64)) & (entry[:-1] != NO_FUNCTION)
    for step in (np.flatnonzero(same & other) + 1).tolist():
        index = int(truth.node[step])
        if int(trace.sp[step]) == truth.activations[index].entry_sp:
            steps[index] = (*steps.get(index, ()), step)
            entries[index] = (*entries.get(index, ()), int(entry[step - 1]))
    return Departures(truth, entry, steps, entries)


def _entries(trace: Trace) -> NDArray[np.int64]:
    """Per step, the run-time address at which its function begins."""
    pcs, place = np.unique(trace.pc, return_inverse=True)
    found = [_entry(trace, pc) for pc in pcs.tolist()]
    return np.array(found, np.int64)[place]


def _entry(trace: Trace, pc: int) -> int:
    loaded = image_covering(trace.images, pc)
    if loaded is None:
        return NO_FUNCTION
    function: Symbol | None = loaded.image.function_at(pc - loaded.bias)
    if function is None:
        return NO_FUNCTION
    stem, piece, _ = function.name.partition(".cold")
    whole = loaded.image.symbol_named(stem) if piece else None
    return (whole or function).address + loaded.bias
