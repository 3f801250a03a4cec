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

from testbed.native.compiled import native
from testbed.trace import Trace
from testbed.truth.events import Bools, Transfers
from testbed.truth.native.sites import distances_between, segment_starts, settle, steps_by_activation
from testbed.truth.path import NATIVE_FROM, Path
from testbed.truth.transitions import OwnRows, transitions
from testbed.truth.windows.known import Known


@dataclass(frozen=True, eq=False)
class SiteFacts:
    """One row per step; ``moved`` is "FP is not its entry value", ``isa`` indexes ``arch.isas``."""

    prologue: Bools
    epilogue: Bools
    frameless: Bools
    moved: Bools
    transition: Bools
    frame_pointer: NDArray[np.uint64]
    isa: NDArray[np.int8]


def describe_sites(trace: Trace, transfers: Transfers, path: Path, *, natively: bool | None = None) -> SiteFacts:
    """The facts of every step of a followed trace. ``natively`` None: where the trace is long."""
    isa = isas(trace)
    if natively is None:
        natively = len(trace) >= NATIVE_FROM
    pointer, moved, lowered = distances(trace, isa, path.activations.opened, path.node, natively=natively)
    count = len(path.activations)
    order = native(steps_by_activation)(path.node, count) if natively else _by_activation(path.node)
    facts = frames(path.node, order, transfers.transfer, (trace.sp, pointer), (moved, lowered), natively=natively)
    whole, rows = np.zeros(0, np.bool_), OwnRows(trace, 0, 0, len(trace), 0)
    if path.found is not None:
        whole, _ = transitions(rows, None, path.found, pointer, moved, Known(), first_time=True)
    return SiteFacts(
        prologue=facts[0],
        epilogue=facts[1],
        frameless=facts[2],
        moved=moved,
        transition=whole,
        frame_pointer=pointer,
        isa=isa,
    )


def distances(
    trace: Trace,
    isa: NDArray[np.int8],
    opened: NDArray[np.int64],
    node: NDArray[np.int32],
    *,
    natively: bool = False,
) -> tuple[NDArray[np.uint64], Bools, Bools]:
    """Per step: FP; whether it is not what it was at the first step of its activation; whether SP is not."""
    count, records = len(trace), trace.images[0].image.frame_records
    pointers = [records.get(its.name, its.records[0]).pointer for its in trace.arch.isas]
    if natively:
        pointer, moved, lowered = np.empty(count, np.uint64), np.empty(count, np.bool_), np.empty(count, np.bool_)
        columns, registers = np.array([trace.arch.index[each] for each in pointers], np.int64), trace.registers
        out = (pointer, moved, lowered)
        native(distances_between)(np.asarray(registers), trace.sp, opened, node, columns, isa, *out)
        return out
    pointer, moved = np.empty(count, np.uint64), np.empty(count, np.bool_)
    for number, name in enumerate(pointers):
        column, here = trace.column(name), isa == number
        np.copyto(pointer, column, where=here)
        np.copyto(moved, column != column[opened][node], where=here)
    sp = trace.sp
    return pointer, moved, sp != sp[opened][node]


def frames(
    node: NDArray[np.int32],
    order: NDArray[np.int64],
    transfer: Bools,
    registers: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    away: tuple[Bools, Bools],
    *,
    natively: bool,
) -> tuple[Bools, Bools, Bools]:
    """Prologue, epilogue and frameless for the steps in ``order`` (by activation, then time); no others are either.

    ``registers`` are SP and FP, ``away`` whether FP and SP are not their entry values.
    """
    moved, lowered = away
    if natively:
        return _frames_natively(node, order, transfer, registers, away)
    segment = _segments(node, order, transfer, moved | lowered)
    kind = np.where(moved, 2, lowered).astype(np.int8)[order]
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    sp, pointer = (column[order] for column in registers)
    kinds = (sp, pointer, kind)
    first, last = _extent(_settled(segment, *kinds), segment, starts)
    place = np.arange(len(order))

    def by_step(values: Bools) -> Bools:
        out = np.zeros(len(node), np.bool_)
        out[order] = values
        return out

    still = np.logical_and.reduceat(~moved[order], starts)[segment] if len(order) else moved[order]
    return by_step(place < first[segment]), by_step(place > last[segment]), by_step(still)


def _frames_natively(
    node: NDArray[np.int32],
    order: NDArray[np.int64],
    transfer: Bools,
    registers: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    away: tuple[Bools, Bools],
) -> tuple[Bools, Bools, Bools]:
    moved, lowered = away
    starts = native(segment_starts)(node, order, transfer, moved, lowered)
    out = (np.zeros(len(node), np.bool_), np.zeros(len(node), np.bool_), np.zeros(len(node), np.bool_))
    native(settle)(starts, order, registers, away, out)
    return out


def isas(trace: Trace) -> NDArray[np.int8]:
    """Per step, the instruction set that executes it."""
    arch = trace.arch
    if arch.isa_flag is None:
        return np.zeros(len(trace), np.int8)
    return ((trace.column(arch.flags) >> np.uint64(arch.isa_flag)) & np.uint64(1)).astype(np.int8)


def _by_activation(node: NDArray[np.int32]) -> NDArray[np.int64]:
    """The steps ordered by activation, then time."""
    return np.argsort(node, kind="stable")


def _segments(node: NDArray[np.int32], order: NDArray[np.int64], transfer: Bools, away: Bools) -> NDArray[np.int64]:
    """The segment's number of each step in the order by activation, counted from 0."""
    cut = np.ones(len(order), np.bool_)
    before, now = order[:-1], order[1:]
    cut[1:] = (node[before] != node[now]) | ((now == before + 1) & transfer[now] & ~away[now])
    cut[_between_frames(node[order], ~away[order], cut)] = True
    return np.cumsum(cut) - 1


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
    segment: NDArray[np.int64], sp: NDArray[np.uint64], pointer: NDArray[np.uint64], kind: NDArray[np.int8]
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
