"""Steps of a non-local transfer at which SP or FP is already the target's while the old code still runs.

A target further out: the last steps with SP above the activation's own entry. Another stack, or a target further in:
the steps from the largest move of SP on, unless that is the transfer itself. It begins earlier if FP was changed first,
as `__builtin_longjmp` does (`is_targets`). The jump may come in a later window, so a few numbers of the steps before it
are kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from testbed.truth.events import Bools, Ints, Words
from testbed.truth.native import state as names
from testbed.truth.path import FollowedRows
from testbed.truth.sites import SiteFacts
from testbed.truth.windows.window import Known

NOT_YET = -1


class OwnRows(NamedTuple):
    """The steps of a run from ``first`` on, in the rows of a trace from ``start`` to ``stop``; before them lie
    ``context`` rows of earlier steps."""

    sites: SiteFacts
    first: int
    start: int
    stop: int
    context: int


class Ending(NamedTuple):
    """The jump that ends a run of steps: its step, SP and how far the jump moved it, FP.

    Of FP besides: whether it was the same before, and whether it is the target's already, which it is not if the
    activation was entered with it.
    """

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

    activation: int  # its number
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


def mark(out: Bools, first: int, ending: Ending, run: OpenRun, entry: int) -> int:
    """Mark the steps of a transition, of which ``run`` ends in the jump; its first step."""
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
    out[max(tail, first) - first : jump - first] = True
    return tail


def mark_transitions(
    own: OwnRows,
    before: OpenRun | None,
    found: FollowedRows,
    known: Known,
    first_time: bool,
) -> OpenRun:
    """Mark those of some steps that are in transition; the run that is open behind them.

    ``before`` is the run that is open before them.
    """
    trace, first, end = own.sites.trace, own.first, own.first + own.stop - own.start
    pointer, out = own.sites.frame_pointer, own.sites.transition[own.start : own.stop]
    behind, last = own.first - own.start, None  # a step is its row, and so much further on
    changes, nodes = found.changes + own.context + behind, found.whose[found.nodes]
    entries, numbers = found.addresses(names.ENTRY), found.column(names.SERIAL)
    sp, regions = trace.sp.view(np.int64), sorted((region.address, region.end) for region in trace.initial)
    if own.start > own.context:
        last = (int(sp[own.start - 1]), int(pointer[own.start - 1]))

    def run_before(step: int, index: int) -> OpenRun:
        at = int(np.searchsorted(changes, step)) - 1
        while at > 0 and nodes[at - 1] == index:
            at -= 1
        start = int(changes[at])
        rows = slice(start - behind, step - behind)
        return run_until(
            before, int(numbers[index]), int(entries[index]), first, start, (sp[rows], pointer[rows]), last
        )

    for jump, left in found.jumps:
        row, entry = jump + own.context, int(entries[left])
        step = row + behind
        run = run_before(step, left) if step > first else before
        if run is not None and run.activation == int(numbers[left]):
            ending = Ending(
                step,
                int(sp[row]),
                abs(int(sp[row]) - int(sp[row - 1])),
                bool(pointer[row] == pointer[row - 1]),
                bool(own.sites.moved[row - 1]) and is_targets(regions, int(pointer[row]), int(sp[row]), entry),
            )
            tail = mark(out, first, ending, run, entry)
            if tail < first and first_time:
                known.transitions.append((tail, first))
                known.revised.append((tail, first))
    for begin, stop in known.transitions if not first_time else ():
        if begin < end and stop > first:
            out[max(begin, first) - first : stop - first] = True
    return run_before(end, int(nodes[-1]))


def is_targets(regions: Sequence[tuple[int, int]], pointer: int, sp: int, entry: int) -> bool:
    """Does FP point into the frame, or further out, of who has SP now, and not into that of an activation entered at
    ``entry``? ``regions`` are where mapped memory begins and ends, in order."""
    stack = _stack_at(regions, sp)
    return sp <= pointer < stack[1] and (pointer >= entry or _stack_at(regions, entry) != stack)


def _stack_at(regions: Sequence[tuple[int, int]], sp: int) -> tuple[int, int]:
    """The region that a push at ``sp`` would write to; one without a byte, at ``sp``, where there is none."""
    i = bisect_left(regions, (sp, 0)) - 1
    return regions[i] if i >= 0 and sp <= regions[i][1] else (sp, sp)
