"""What is true of each step, from registers alone: settled frames, prologues, epilogues, frameless code.

An activation's own steps are those at which it is the innermost one. They are cut into *segments* at transfers
that find SP and FP back at their entry values: each tail call, and each turn of a frameless loop, starts anew. So
does what follows when one frame was left and another entered without a visible transfer between.
In a segment the *settled* pair (SP, FP) is the one that most of its steps have, among those that changed FP;
if none did, among those that changed SP; if none did, the entry pair. FP is the register that the instruction
set in force chains its frames with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.columns import activation_columns
from testbed.truth.follow import NATIVE_FROM
from testbed.truth.model import Path
from testbed.truth.transfers import Bools, Transfers


@dataclass(frozen=True, eq=False)
class Sites:
    """One row per step; ``moved`` is "FP is not its entry value", ``isa`` indexes ``arch.isas``."""

    prologue: Bools
    epilogue: Bools
    frameless: Bools
    moved: Bools
    transition: Bools
    frame_pointer: NDArray[np.uint64]
    isa: NDArray[np.int8]


def describe_sites(trace: Trace, transfers: Transfers, path: Path, *, natively: bool | None = None) -> Sites:
    """The facts of every step of a followed trace; ``natively`` (None: for a long one) changes only how fast."""
    isa = _isa(trace)
    columns = [trace.arch.index[isa.records[0].pointer] for isa in trace.arch.isas]
    opened = activation_columns(path.activations).opened
    pointer = _by_isa(trace.registers[:, columns], isa)
    # By activation first: its rows lie far apart, and each has many steps.
    moved = pointer != _by_isa(trace.registers[opened][:, columns][path.node], isa)
    lowered = trace.sp != trace.sp[opened][path.node]
    away = moved | lowered
    if len(trace) >= NATIVE_FROM if natively is None else natively:
        from testbed.truth.sites_native import segment_facts, steps_by_activation  # numba: for a long trace only

        order = steps_by_activation(path.node, len(path.activations))
        starts = np.flatnonzero(_cuts(order, path.node, transfers.transfer, away))
        facts = segment_facts(order, starts, trace.sp, pointer, moved, lowered)
    else:
        facts = _facts(trace.sp, path.node, transfers.transfer, pointer, moved, lowered)
    prologue, epilogue, frameless = facts
    return Sites(prologue, epilogue, frameless, moved, _transitions(trace, path), pointer, isa)


def _facts(
    sp: NDArray[np.uint64],
    node: NDArray[np.int32],
    transfer: Bools,
    pointer: NDArray[np.uint64],
    moved: Bools,
    lowered: Bools,
) -> tuple[Bools, Bools, Bools]:
    """Prologue, epilogue and frameless of every step; `sites_native` has to find the same."""
    order = np.argsort(node, kind="stable")
    segment = np.cumsum(_cuts(order, node, transfer, moved | lowered)) - 1
    kind = np.where(moved, 2, np.where(lowered, 1, 0))[order]
    settled = _settled(segment, sp[order], pointer[order], kind)
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    first, last = _extent(settled, segment, starts)
    place = np.arange(len(order))

    def by_step(values: Bools) -> Bools:
        out = np.empty(len(order), np.bool_)
        out[order] = values
        return out

    still = np.logical_and.reduceat(~moved[order], starts)[segment] if len(order) else moved
    return by_step(place < first[segment]), by_step(place > last[segment]), by_step(still)


def _by_isa(values: NDArray[np.uint64], isa: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Of columns by instruction set, the one that is in force at each row."""
    return values[:, 0].copy() if values.shape[1] == 1 else values[np.arange(len(values)), isa]


def _isa(trace: Trace) -> NDArray[np.int8]:
    arch = trace.arch
    if arch.isa_flag is None:
        return np.zeros(len(trace), np.int8)
    return ((trace.column(arch.flags) >> np.uint64(arch.isa_flag)) & np.uint64(1)).astype(np.int8)


def _cuts(order: NDArray[np.int64], node: NDArray[np.int32], transfer: Bools, away: Bools) -> Bools:
    """Of the steps in their order by activation, then time: which of them start a segment."""
    cut = np.ones(len(order), np.bool_)
    before, now = order[:-1], order[1:]
    cut[1:] = (node[before] != node[now]) | ((now == before + 1) & transfer[now] & ~away[now])
    cut[_between_frames(node[order], ~away[order], cut)] = True
    return cut


def _between_frames(node: NDArray[np.int32], home: Bools, cut: Bools) -> NDArray[np.int64]:
    """Where to cut an activation that left one frame and entered another without a visible transfer between.

    A tail call to the very next address, ``b target`` right before ``target``, is such a case. The first step that
    finds SP and FP at home belongs to the epilogue, the others to what follows.
    """
    if len(node) == 0:
        return np.empty(0, np.int64)
    new = np.ones(len(node), np.bool_)
    new[1:] = (node[1:] != node[:-1]) | (home[1:] != home[:-1])
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(node))
    inside = np.zeros(len(starts), np.bool_)
    inside[1:-1] = (node[starts[:-2]] == node[starts[1:-1]]) & (node[starts[2:]] == node[starts[1:-1]])
    so_far = np.concatenate(([0], np.cumsum(cut)))
    found: NDArray[np.int64] = starts[home[starts] & inside & (so_far[ends] == so_far[starts])] + 1
    return found


def _settled(
    segment: NDArray[np.int64], sp: NDArray[np.uint64], pointer: NDArray[np.uint64], kind: NDArray[np.int64]
) -> Bools:
    """Where (SP, FP) is its segment's settled pair; of equally frequent pairs, the one deepest in the stack."""
    count = len(segment)
    by_pair = np.lexsort((pointer, sp, segment))
    keys = (segment[by_pair], sp[by_pair], pointer[by_pair])
    new = np.ones(count, np.bool_)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    pair = np.cumsum(new) - 1  # the pair's number, for each step in this order
    heads = by_pair[new]
    # The best pair of each segment is the last one in this order of the pairs.
    depth = ~sp[heads]
    ranked = np.lexsort((depth, np.bincount(pair, minlength=0), kind[heads], segment[heads]))
    is_best = np.ones(len(ranked), np.bool_)
    is_best[:-1] = segment[heads][ranked][1:] != segment[heads][ranked][:-1]
    best = np.zeros(len(heads), np.bool_)
    best[ranked[is_best]] = True
    out = np.empty(count, np.bool_)
    out[by_pair] = best[pair]
    return out


def _extent(
    settled: Bools, segment: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last settled place of each segment."""
    places = np.flatnonzero(settled)
    first = np.full(len(starts), len(segment), np.int64)
    last = np.full(len(starts), -1, np.int64)
    np.minimum.at(first, segment[places], places)
    np.maximum.at(last, segment[places], places)
    return first, last


def _transitions(trace: Trace, path: Path) -> Bools:
    """Steps of a non-local transfer at which SP is already the target's while the old code still runs.

    A target further out: the last steps with SP above the activation's own entry. Another stack, or a target
    further in: the steps from the largest move of SP on, unless that is the transfer itself.
    """
    out = np.zeros(len(trace), np.bool_)
    sp = trace.sp.astype(np.int64)
    for step, left in path.jumps:
        start = step
        while start > 0 and path.node[start - 1] == left:
            start -= 1
        entry = path.activations[left].entry_sp
        if sp[step] > entry:
            tail = step
            while tail > start and sp[tail - 1] > entry:
                tail -= 1
        else:
            moves = np.abs(np.diff(sp[start : step + 1]))
            tail = start + 1 + int(np.argmax(moves)) if len(moves) and moves.max() else step
        out[tail:step] = True
    return out
