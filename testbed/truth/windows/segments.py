"""Segments of `testbed.truth.sites` that are longer than what is looked at: in a long run, seen window by window.

Where a segment ends, and which pair of (SP, FP) was its settled one, is known at its end only; that may be a million
steps on. So a run is watched twice. The first time, `OpenSegment.after` counts the pairs of each segment that is open,
and `Known` takes down, of every one that was open between two windows, what it came to; and the places at which an
activation turned out, a window later, to have entered a new frame. The second time all of it is known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import native
from testbed.truth.events import Bools
from testbed.truth.native.sites import count_pairs
from testbed.truth.windows.assumed import Guess
from testbed.truth.windows.known import Extent, Known

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
NOT_YET = -1
GOES_ON = np.iinfo(np.int64).max  # the last settled step of a segment whose end is not seen yet


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of (SP, FP) in some steps: (kind, how many, first step, last step) of each."""

    counted: dict[tuple[int, int], tuple[int, int, int, int]]
    still: bool = True

    def joined(self, later: Pairs) -> Pairs:
        """With those of later steps."""
        out = dict(self.counted)
        for pair, (kind, many, first, last) in later.counted.items():
            before = out.get(pair)
            out[pair] = (before[0], before[1] + many, before[2], last) if before else (kind, many, first, last)
        return Pairs(out, self.still and later.still)

    def extent(self) -> Extent:
        """Of the highest kind, then the most frequent, then the deepest pair."""
        (_, _), (_, _, first, last) = max(
            self.counted.items(), key=lambda item: (item[1][0], item[1][1], -item[0][0], item[0][1])
        )
        return Extent(first, last, self.still)


@dataclass(frozen=True, eq=False)
class Steps:
    """Own steps of one activation in a window: where they are in the run, and what they look like."""

    step: Ints
    sp: Words
    pointer: Words
    moved: Bools
    lowered: Bools
    transfer: Bools

    def __len__(self) -> int:
        return len(self.step)

    def pairs(self, first: int, end: int) -> Pairs:
        """Counted, of the steps at these places."""
        kind = np.where(self.moved[first:end], 2, self.lowered[first:end]).astype(np.int8)
        sp, pointer = self.sp[first:end], self.pointer[first:end]
        heads, many, lasts = native(count_pairs)(sp, pointer, kind)
        at = self.step[first:end]
        columns = (sp[heads], pointer[heads], kind[heads], many, at[heads], at[lasts])
        counted = {(s, p): (k, n, f, la) for s, p, k, n, f, la in zip(*(c.tolist() for c in columns), strict=True)}
        return Pairs(counted, not bool(self.moved[first:end].any()))


_NONE = Pairs({})


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """The last segment of an activation that may go on, and the run of steps at home, or away, that it ends in.

    ``key`` is the segment's first step, ``last`` the last one until now. ``second`` is the run's second step: that is
    where a new segment begins, should the activation be at home now and go away again. Until that is known, the
    pairs from there on are ``pending``.
    """

    key: int
    last: int
    home: bool
    is_first: bool  # of the activation's runs
    has_cut: bool
    second: int
    since: int  # the first of its activation's steps in the last window that had any
    pairs: Pairs = _NONE
    pending: Pairs = _NONE

    @property
    def may_be_cut(self) -> bool:
        return self.home and not self.is_first and not self.has_cut

    def close(self, known: Known) -> None:
        """Take down what the segment came to, if it is of more than one window."""
        if self.key < self.since:
            known.extents[self.key] = self.pairs.joined(self.pending).extent()


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the segments of some own steps begin. ``late``: a step before all of these that turned out to begin one."""

    cuts: Bools
    late: int
    after: OpenSegment


def cut(steps: Steps, before: OpenSegment | None, known: Known) -> Cut:
    """Cut own steps into segments, as `testbed.truth.sites` does; ``before`` is what was open."""
    g, home, count = steps.step, ~(steps.moved | steps.lowered), len(steps)
    cuts = np.zeros(count, np.bool_)
    cuts[1:] = (g[1:] == g[:-1] + 1) & steps.transfer[1:] & home[1:]
    cuts[0] = before is None or bool(g[0] == before.last + 1 and steps.transfer[0] and home[0])
    starts = np.flatnonzero(np.append(True, home[1:] != home[:-1]))
    merged = before is not None and before.home == home[0]
    has_cut = np.logical_or.reduceat(cuts, starts)
    inside = np.ones(len(starts), np.bool_)
    inside[0] = before is not None and not (merged and before.is_first)
    late, at_once = NOT_YET, NOT_YET
    if before is not None and merged:
        has_cut[0] |= before.has_cut
        if len(starts) > 1 and home[0] and inside[0] and not has_cut[0]:
            late, at_once = (before.second, NOT_YET) if before.second != NOT_YET else (NOT_YET, 0)
    elif before is not None and before.may_be_cut:
        late, at_once = (before.second, NOT_YET) if before.second != NOT_YET else (NOT_YET, 0)
    between = home[starts] & inside & ~has_cut
    between[-1] = False
    if merged:
        between[0] = False
    begins = cuts.copy()
    begins[starts[between] + 1] = True
    if at_once != NOT_YET:
        begins[at_once] = True
    if known.cuts:
        begins |= np.isin(g, np.fromiter(known.cuts, np.int64))
    last = int(starts[-1])
    second = int(g[last + 1]) if count > last + 1 else NOT_YET
    if before is not None and merged and len(starts) == 1:
        second = before.second if before.second != NOT_YET else int(g[0])
    is_first = len(starts) == 1 and (before is None or (merged and before.is_first))
    places = np.flatnonzero(begins)
    key = int(g[places[-1]]) if len(places) else before.key if before else NOT_YET
    after = OpenSegment(key, int(g[-1]), bool(home[-1]), is_first, bool(has_cut[-1]), second, int(g[0]))
    return Cut(begins, late, after)


def count(steps: Steps, before: OpenSegment | None, found: Cut, known: Known) -> OpenSegment:
    """The first time: what is open after these steps, its pairs counted; what was closed is taken down in ``known``."""
    pairs, pending, key = (before.pairs, before.pending, before.key) if before else (_NONE, _NONE, NOT_YET)
    after = found.after
    begins = np.flatnonzero(found.cuts)
    if before is not None:
        whole = len(begins) == 0 and found.late == NOT_YET and after.may_be_cut
        if whole and before.may_be_cut:  # still at home: all of it is pending
            return replace(after, pairs=pairs, pending=pending.joined(steps.pairs(0, len(steps))))
        if found.late != NOT_YET:
            known.cuts.add(found.late)
            replace(before, pending=_NONE).close(known)
            pairs, key = pending, found.late
        else:
            pairs = pairs.joined(pending)
    at = 0
    for begin in begins.tolist():
        if begin > 0 or before is not None:
            pairs = pairs.joined(steps.pairs(at, begin)) if begin > at else pairs
            replace(after, key=key, pairs=pairs, pending=_NONE).close(known)
        pairs, key, at = _NONE, int(steps.step[begin]), begin
    end = len(steps)
    if after.may_be_cut and after.second != NOT_YET:
        split = int(np.searchsorted(steps.step, after.second))
        return replace(after, key=key, pairs=pairs.joined(steps.pairs(at, split)), pending=steps.pairs(split, end))
    return replace(after, key=key, pairs=pairs.joined(steps.pairs(at, end)), pending=_NONE)


def extents(steps: Steps, before: OpenSegment | None, found: Cut, known: Known) -> tuple[Ints, Ints, Bools]:
    """The second time: per step, its segment's first and last settled step, and whether FP keeps its value in it."""
    first, last = np.empty(len(steps), np.int64), np.empty(len(steps), np.int64)
    still = np.empty(len(steps), np.bool_)
    begins = np.flatnonzero(found.cuts).tolist()
    bounds = [*([] if begins and begins[0] == 0 else [0]), *begins, len(steps)]
    for at, end in pairwise(bounds):
        key = int(steps.step[at]) if found.cuts[at] or before is None else before.key
        extent = known.extents.get(key) or steps.pairs(at, end).extent()
        first[at:end], last[at:end], still[at:end] = extent
    return first, last, still


def extents_of(steps: Steps, made: list[Guess]) -> tuple[Ints, Ints, Bools]:
    """The same by guesses."""
    ends = np.searchsorted(steps.step, [guess.last for guess in made], side="right")
    how_many = np.diff(ends, prepend=0)
    first, last, still = zip(*(guess.extent for guess in made), strict=True)
    return np.repeat(first, how_many), np.repeat(last, how_many), np.repeat(still, how_many)


def guesses(steps: Steps, before: OpenSegment | None, found: Cut, goes_on: bool) -> list[Guess]:
    """The first time: by what extents the segments of these steps are judged, as far as they are known by now.

    A segment that ``goes_on`` is taken to keep its settled pair, and to come back to it.
    """
    out = []
    begins = np.flatnonzero(found.cuts).tolist()
    for at, end in pairwise([*([] if begins and begins[0] == 0 else [0]), *begins, len(steps)]):
        pairs = steps.pairs(at, end)
        own, key = pairs.extent(), int(steps.step[at])
        so_far = own
        if not found.cuts[at] and before is not None:
            key, so_far = before.key, before.pairs.joined(before.pending).joined(pairs).extent()
        if end == len(steps) and goes_on:
            so_far = so_far._replace(last=GOES_ON)
        out.append(Guess(key, int(steps.step[at]), int(steps.step[end - 1]), so_far, own))
    return out


def guessed_again(guess: Guess, segment: OpenSegment | None, known: Known) -> Guess:
    """A guess at a segment that went on, by what it has come to since; ``segment`` is what is open of it, if it is."""
    if segment is None:
        return guess._replace(extent=known.extents.get(guess.key) or guess.own)
    return guess._replace(extent=segment.pairs.joined(segment.pending).extent()._replace(last=GOES_ON))
