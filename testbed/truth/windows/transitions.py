"""Transitions of `testbed.truth.sites` whose jump may be a window later: the last steps before it, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.truth.transfers import Bools
from testbed.truth.windows.hindsight import Known

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
NOT_YET = -1


class Ending(NamedTuple):
    """The jump that a run of steps ends in: its step; SP, and how far that moved with it; FP, whether it was the same
    before, and whether it is the target's already, which it is not if the activation was entered with it."""

    step: int
    sp: int
    last_move: int
    same_pointer: bool
    is_targets: bool


@dataclass(frozen=True, slots=True)
class OpenRun:
    """The steps until now at which one activation has been the innermost, without a break.

    ``above`` is the first step from which on SP was above its entry value, the step after the last one where it is not.
    ``move`` is the largest move of SP in the run, ``moved_at`` the first step after such a one. ``since`` is the first
    step from which on FP is what it is at the end of the run; NOT_YET where it has been that from the run's start,
    or was no address in the activation's own frame before.
    """

    activation: int  # by the step at which it was opened
    above: int
    move: int
    moved_at: int
    since: int


def run_until(
    before: OpenRun | None,
    activation: int,
    entry: int,
    first: int,
    start: int,
    values: tuple[Ints, Words],
    last: tuple[int, int] | None,
) -> OpenRun:
    """The run of one activation from ``start`` on, of a window that begins at ``first``; ``values`` are SP and FP.

    ``last`` is what they are at the step before the window.
    """
    sp, pointer = values
    goes_on = before is not None and start == first and before.activation == activation
    not_above = np.flatnonzero(sp <= entry)
    moves = np.abs(np.diff(sp))
    at = int(np.argmax(moves)) if len(moves) else -1
    move, moved_at = (int(moves[at]), start + 1 + at) if at >= 0 else (0, start)
    above = start + int(not_above[-1]) + 1 if len(not_above) else start
    changed = np.flatnonzero(pointer[1:] != pointer[:-1])
    since = NOT_YET
    if len(changed) and int(sp[changed[-1]]) <= int(pointer[changed[-1]]) < entry:
        since = start + 1 + int(changed[-1])
    if goes_on and before is not None and last is not None:
        if not len(not_above):
            above = before.above
        across = abs(int(sp[0]) - last[0]) if len(sp) else 0
        if across >= move:
            move, moved_at = across, start
        if before.move >= move:
            move, moved_at = before.move, before.moved_at
        if not len(changed):
            since = before.since
            if len(pointer) and int(pointer[0]) != last[1]:
                since = start if last[0] <= last[1] < entry else NOT_YET
    return OpenRun(activation, above, move, moved_at, since)


def mark(out: Bools, first: int, ending: Ending, run: OpenRun, entry: int, known: Known) -> None:
    """Mark the steps of a transition, of which ``run`` ends in the jump; those of earlier windows are taken down."""
    jump = ending.step
    if ending.sp > entry:
        tail = run.above
    else:
        larger = run.move >= ending.last_move
        move, at = (run.move, run.moved_at) if larger else (ending.last_move, jump)
        tail = at if move else jump
    since = run.since if ending.same_pointer else jump
    if ending.is_targets and since != NOT_YET:
        tail = min(tail, since)
    if tail < first:
        known.transitions.append((tail, first))
    out[max(tail, first) - first : jump - first] = True
