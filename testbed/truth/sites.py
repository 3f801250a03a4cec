"""What is true of each step, from registers alone: settled frames, prologues, epilogues, frameless code.

An activation's own steps are those at which it is the innermost one. They are cut into *segments* at transfers
that find SP and FP back at their entry values: each function that takes over, and each turn of a frameless loop, starts
anew. So does what follows when one frame was left and another entered without a visible transfer between.
In a segment the *settled* pair (SP, FP) is the one that most of its steps have, among those at which FP is framed;
if it never is, of the SPs alone, among those that changed SP; if none did, the entry pair. FP is the register that
the instruction set in force chains its frames with. It is *framed* from where it is set to where it is set again, if it
points into the activation's own frame, SP up to the CFA, at a step in between: otherwise it is a register like others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth.events import Bools, Ints, Words
from testbed.truth.model import Activations


@dataclass(frozen=True, eq=False)
class SiteFacts:
    """Facts by step, each made when somebody asks. ``told`` says of which activations all steps are here: only of these
    prologue, epilogue and frameless are told."""

    trace: Trace
    activations: Activations
    node: NDArray[np.int32] = field(repr=False)
    transfer: Bools = field(repr=False)
    told: Bools = field(repr=False)
    transition: Bools = field(repr=False)

    @cached_property
    def isa(self) -> NDArray[np.int8]:
        """The instruction set that executes it, an index of ``arch.isas``."""
        trace, arch = self.trace, self.trace.arch
        if arch.isa_flag is None:
            return np.zeros(len(trace), np.int8)
        return ((trace.column(arch.flags) >> np.uint64(arch.isa_flag)) & np.uint64(1)).astype(np.int8)

    @cached_property
    def frame_pointer(self) -> Words:
        """FP."""
        return self._by_isa(slice(None))

    @cached_property
    def moved(self) -> Bools:
        """Is FP not what it was at the first step of its activation?"""
        moved: Bools = self.frame_pointer != self._by_isa(self.activations.opened[self.node])
        return moved

    @property
    def prologue(self) -> Bools:
        """The settled pair is not reached yet."""
        return self._frames[0]

    @property
    def epilogue(self) -> Bools:
        """It has been left already."""
        return self._frames[1]

    @property
    def frameless(self) -> Bools:
        """FP is framed nowhere in the segment."""
        return self._frames[2]

    def _by_isa(self, steps: slice | Ints) -> Words:
        """FP as the instruction set of each step has it, at that step or, one for each, at ``steps``."""
        trace, image = self.trace, self.trace.images[0].image
        pointers = [image.frame_record_of(isa).pointer for isa in trace.arch.isas]
        pointer = trace.column(pointers[0])[steps]
        for number, name in enumerate(pointers[1:], 1):
            pointer = np.where(self.isa == number, trace.column(name)[steps], pointer)
        return pointer

    @cached_property
    def _frames(self) -> tuple[Bools, Bools, Bools]:
        order = np.argsort(self.node, kind="stable")  # by activation, then time
        order = order[self.told[self.node[order]]]
        sp = self.trace.sp[order]
        framed, lowered = self._framed(order), sp != self.trace.sp[self.activations.opened][self.node[order]]
        segment = _segments(self.node[order], order, self.transfer[order], framed | lowered)
        starts = np.flatnonzero(np.diff(segment, prepend=-1))
        kind = np.where(framed, 2, lowered).astype(np.int8)
        pointer = np.where(framed, self.frame_pointer[order], np.uint64(0))
        first, last = _extent(_settled(segment, sp, pointer, kind), segment, starts)
        place = np.arange(len(order))
        still = ~np.logical_or.reduceat(framed, starts)[segment] if len(order) else framed
        by_step = np.zeros((3, len(self.node)), np.bool_)
        by_step[:, order] = place < first[segment], place > last[segment], still
        return by_step[0], by_step[1], by_step[2]

    def _framed(self, order: Ints) -> Bools:
        """Is FP framed, of each step in the order by activation, then time?"""
        node, sp, pointer = self.node[order], self.trace.sp[order], self.frame_pointer[order]
        cfa, entry = self.activations.cfa[node], self.trace.sp[self.activations.opened][node]
        within = (sp <= pointer) & (pointer < np.where(cfa, cfa, entry + np.uint64(self.trace.arch.word)))
        set_here = (np.diff(node, prepend=-1) != 0) | (np.diff(pointer, prepend=pointer[:1]) != 0)
        starts = np.flatnonzero(set_here)
        if not len(starts):
            return within
        held: Bools = (np.logical_or.reduceat(within, starts) & self.moved[order][starts])[np.cumsum(set_here) - 1]
        return held


def _segments(node: NDArray[np.int32], order: Ints, transfer: Bools, away: Bools) -> Ints:
    """The segment's number of each step in the order by activation, counted from 0."""
    cut = np.ones(len(order), np.bool_)
    cut[1:] = (node[:-1] != node[1:]) | ((order[1:] == order[:-1] + 1) & transfer[1:] & ~away[1:])
    cut[_between_frames(node, ~away, cut)] = True
    return np.cumsum(cut) - 1


def _between_frames(node: NDArray[np.int32], home: Bools, cut: Bools) -> Ints:
    """Where to cut an activation that left one frame and entered another without a visible transfer between.

    A branch to the very next address, ``b target`` right before ``target``, is such a case. The first step that
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
    found: Ints = starts[home[starts] & inside & (so_far[ends] == so_far[starts])] + 1
    return found


def _settled(segment: Ints, sp: Words, pointer: Words, kind: NDArray[np.int8]) -> Bools:
    """Where (SP, FP) is its segment's settled pair; of equally frequent pairs, the one deepest in the stack."""
    count = len(segment)
    by_pair = np.lexsort((pointer, sp, segment))
    keys = (segment[by_pair], sp[by_pair], pointer[by_pair])
    new = np.ones(count, np.bool_)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    pair = np.cumsum(new) - 1  # the pair's number, for each step in this order
    heads = by_pair[new]
    # The best pair of each segment is the last one in this order of the pairs.
    ranked = np.lexsort((~sp[heads], np.bincount(pair, minlength=0), kind[heads], segment[heads]))
    is_best = np.ones(len(ranked), np.bool_)
    is_best[:-1] = segment[heads][ranked][1:] != segment[heads][ranked][:-1]
    best = np.zeros(len(heads), np.bool_)
    best[ranked[is_best]] = True
    out = np.empty(count, np.bool_)
    out[by_pair] = best[pair]
    return out


def _extent(settled: Bools, segment: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """The first and the last settled place of each segment."""
    places = np.flatnonzero(settled)
    first = np.full(len(starts), len(segment), np.int64)
    last = np.full(len(starts), -1, np.int64)
    np.minimum.at(first, segment[places], places)
    np.maximum.at(last, segment[places], places)
    return first, last
