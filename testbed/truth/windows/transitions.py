"""Transitions of `testbed.truth.sites` whose jump may be a window later: the last steps before it, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.truth.transfers import Bools
from testbed.truth.windows.hindsight import Known

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OpenRun:
    """The steps until now at which one activation has been the innermost, without a break.

    ``above`` is the first step from which on SP was above its entry value, the step after the last one where it is not.
    ``move`` is the largest move of SP in the run, ``moved_at`` the first step after such a one.
    """

    activation: int  # by the step at which it was opened
    above: int
    move: int
    moved_at: int


def run_until(
    before: OpenRun | None, activation: int, entry: int, first: int, start: int, sp: Ints, last_sp: int | None
) -> OpenRun:
    """The run of one activation from ``start`` on, of a window that begins at ``first``; ``sp`` are its values.

    ``last_sp`` is SP at the step before the window.
    """
    goes_on = before is not None and start == first and before.activation == activation
    not_above = np.flatnonzero(sp <= entry)
    moves = np.abs(np.diff(sp))
    at = int(np.argmax(moves)) if len(moves) else -1
    move, moved_at = (int(moves[at]), start + 1 + at) if at >= 0 else (0, start)
    above = start + int(not_above[-1]) + 1 if len(not_above) else start
    if goes_on and before is not None and last_sp is not None:
        if not len(not_above):
            above = before.above
        across = abs(int(sp[0]) - last_sp) if len(sp) else 0
        if across >= move:
            move, moved_at = across, start
        if before.move >= move:
            move, moved_at = before.move, before.moved_at
    return OpenRun(activation, above, move, moved_at)


def mark(out: Bools, first: int, jump: int, run: OpenRun, entry: int, sp: int, last_move: int, known: Known) -> None:
    """Mark the steps of a transition that ends in a jump to ``sp``; those of earlier windows are taken down.

    ``run`` are the steps before the jump, ``last_move`` how far SP moved with it.
    """
    if sp > entry:
        tail = run.above
    else:
        move, at = (run.move, run.moved_at) if run.move >= last_move else (last_move, jump)
        tail = at if move else jump
    if tail < first:
        known.transitions.append((tail, first))
    out[max(tail, first) - first : jump - first] = True
