"""A strategy judged at every step of a trace, without an object per step.

`testbed.judge` is the specification; outcomes and explanations come in columns here, and the verdict on a step is
made, by that same specification, when someone looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from testbed.contract.backtraces import Backtraces
from testbed.contract.unwinder import Limit
from testbed.native.compiled import native
from testbed.truth import Truth
from testbed.truth.columns import trait_at
from testbed.truth.frame_sites import FrameSites, frame_sites
from testbed.truth.frame_traits import LazyTraits
from testbed.verdicts.counts import NO_CALLERS, OUTCOMES, Callers, Counts, counted_columns
from testbed.verdicts.one import Verdict, counted, exact_verdict, judge_backtrace
from testbed.words.outcome import Outcome
from testbed.words.traits import NARROWED, Trait

UNEXPLAINED = -1
EXACT = OUTCOMES.index(Outcome.EXACT)
LYING = np.array([outcome.lying for outcome in OUTCOMES])  # by place in OUTCOMES


@dataclass(frozen=True, eq=False)
class Verdicts(Sequence[Verdict]):
    """One verdict per step. ``outcome`` indexes OUTCOMES, ``explained`` the strategy's limits (or UNEXPLAINED).

    ``frame`` is the frame at which it goes wrong and the innermost one at which it may have, 0 where nothing does.

    ``callers`` are those of all steps that count, outside transitions.
    """

    backtraces: Backtraces = field(repr=False)
    truth: Truth = field(repr=False)
    declared: frozenset[Trait]
    limits: tuple[Limit, ...]
    outcome: NDArray[np.uint8] = field(repr=False)
    frame: NDArray[np.int32] = field(repr=False)
    explained: NDArray[np.int8] = field(repr=False)
    transition: NDArray[np.bool_] = field(repr=False)
    callers: Callers

    def __len__(self) -> int:
        return len(self.outcome)

    def __iter__(self) -> Iterator[Verdict]:
        return (self.at(step) for step in range(len(self)))

    @overload
    def __getitem__(self, step: int) -> Verdict: ...
    @overload
    def __getitem__(self, step: slice) -> Sequence[Verdict]: ...
    def __getitem__(self, step: int | slice) -> Verdict | Sequence[Verdict]:
        if isinstance(step, slice):
            return tuple(self.at(i) for i in range(*step.indices(len(self))))
        return self.at(range(len(self))[step])

    def at(self, step: int) -> Verdict:
        """The verdict on one step, with the words that no column holds; an exact one needs none."""
        depth = self.backtraces.depth(step)
        if depth is not None and self.outcome[step] == EXACT:
            return exact_verdict(depth, transition=bool(self.transition[step]))
        return _verdict(self.backtraces, self.truth, self.declared, self.limits, step)

    def counts(self, first: int = 0, end: int | None = None, phase: NDArray[np.int8] | None = None) -> Counts:
        """The verdicts on some steps (all, if none are named), counted; steps count from the first of them."""
        outcome, transition = self.outcome[first:end], self.transition[first:end]
        cause, causes = self.explained[first:end] + np.int32(1), ("", *(limit.mechanism for limit in self.limits))
        return counted_columns(outcome, transition, self.callers, cause=cause, causes=causes, phase=phase)


def counts_of(verdicts: Sequence[Verdict], phase: NDArray[np.int8] | None = None) -> Counts:
    """The verdicts on all steps of a run, counted; by phase, where each step's number in PHASES is given."""
    return verdicts.counts(phase=phase) if isinstance(verdicts, Verdicts) else counted(verdicts, phase)


def judge_trace(
    truth: Truth,
    backtraces: Backtraces,
    *,
    declared: frozenset[Trait] = frozenset(),
    limits: tuple[Limit, ...] = (),
    steps: tuple[int, int] | None = None,
) -> Verdicts:
    """The verdicts on the backtraces of every step. ``declared`` traits hold at all of them, unless `NARROWED`.

    ``steps``: only those from the first to before the second count, of a trace that has rows besides.
    """
    from testbed.verdicts.native import UNJUDGED

    transition = truth.transition | (Trait.TRANSITION in declared)
    counted = ~transition
    if steps is not None:
        counted[: steps[0]], counted[steps[1] :] = False, False
    outcome, frame, callers = _outcomes(truth, backtraces, counted)
    beside = _beside_a_signal(truth)
    if beside.any():
        outcome, frame, callers = _outcomes(truth, backtraces, counted & ~beside)
        outcome[beside] = UNJUDGED
    changed = _changes_an_address(truth) & (outcome != EXACT) & (outcome != UNJUDGED)
    if changed.any():  # more than one pc may be right of a frame: only the specification knows
        outcome, frame, callers = _outcomes(truth, backtraces, counted & ~changed & ~beside)
        outcome[changed | beside] = UNJUDGED
    why: dict[int, int] = {}
    for step in np.flatnonzero(outcome == UNJUDGED).tolist():
        verdict = _verdict(backtraces, truth, declared, limits, step)
        outcome[step], frame[step] = OUTCOMES.index(verdict.outcome), (verdict.frame, verdict.since)
        callers += verdict.callers if counted[step] else NO_CALLERS
        why[step] = UNEXPLAINED if verdict.explained_by is None else limits.index(verdict.explained_by)
    explained = explained_by(truth, outcome, frame, declared, limits)
    explained[list(why)] = list(why.values())  # of signals the columns of traits know nothing
    return Verdicts(backtraces, truth, declared, limits, outcome, frame, explained, transition, callers)


def _changes_an_address(truth: Truth) -> NDArray[np.bool_]:
    """The steps with a frame in which control goes on at another address than the call handed over."""
    activations = truth.activations
    if not activations.goes_on.any():
        return np.zeros(len(truth.node), np.bool_)
    changed = activations.goes_on != 0
    for index in np.flatnonzero(activations.parent >= 0).tolist():  # a parent comes before its children
        changed[index] |= changed[activations.parent[index]]
    found: NDArray[np.bool_] = changed[truth.node]
    return found


def _beside_a_signal(truth: Truth) -> NDArray[np.bool_]:
    """The steps with a signal's frame on the stack: of an interrupted frame more is judged than of a caller."""
    arrived = np.flatnonzero(truth.trace.sizes == 0)
    if not len(arrived):
        return np.zeros(len(truth.node), np.bool_)
    activations = truth.activations
    beside = np.isin(activations.opened, arrived + 1) & (activations.parent >= 0)
    for index in range(len(beside)):  # a parent comes before its children
        beside[index] |= activations.parent[index] >= 0 and beside[activations.parent[index]]
    found: NDArray[np.bool_] = beside[truth.node]
    return found


def _verdict(
    backtraces: Backtraces, truth: Truth, declared: frozenset[Trait], limits: tuple[Limit, ...], step: int
) -> Verdict:
    @cache
    def traits(frame: int) -> LazyTraits:
        return LazyTraits(truth, truth.frame_site(step, frame), declared)

    transition = bool(truth.transition[step]) or Trait.TRANSITION in declared
    return judge_backtrace(
        truth.trace.arch, truth.stack(step), backtraces[step], traits=traits, limits=limits, transition=transition
    )


def _outcomes(
    truth: Truth, backtraces: Backtraces, counted: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], Callers]:
    """The outcome of every step and its frame; the callers of the ``counted`` ones among those that have an outcome."""
    from testbed.verdicts.native import JudgedSteps, SaidNodes, SaidSites, TrueStacks, depths, judge_steps

    trace, arch = truth.trace, truth.trace.arch
    names, nodes, sites = backtraces.registers, backtraces.nodes, backtraces.sites
    true_names = {arch.sp, *arch.preserved}
    judged = sum(1 << i for i, name in enumerate(names) if name in true_names)
    assert not names or names[0] == arch.sp
    true = truth.activations
    depth = np.empty(len(true), np.int32)
    native(depths)(true.parent, depth)
    stacks = TrueStacks(
        true.parent,
        true.return_address,
        true.cfa,
        true.opened,
        depth,
        np.asarray(trace.registers),
        np.array([arch.index[name] for name in names], np.int64),
        np.uint64(judged),
    )
    said = SaidNodes(
        *(nodes.pc, nodes.known, nodes.values, nodes.cfa, nodes.cfa_known, nodes.outer, nodes.end, nodes.depth),
        right=np.full(len(nodes), -1, np.int32),
        most=np.int64(backtraces.most_frames),
    )
    last = np.full((len(sites), 5), -1, np.int32)
    outcomes, frames = np.empty(len(backtraces), np.uint8), np.empty((len(backtraces), 2), np.int32)
    callers = np.zeros(3, np.int64)
    native(judge_steps)(
        JudgedSteps(backtraces.site, truth.node, counted, outcomes, frames),
        SaidSites(sites.cfa, sites.cfa_known, sites.outer, last),
        said,
        stacks,
        np.zeros(backtraces.most_frames + 1, np.int32),
        callers,
    )
    return outcomes, frames, Callers(*callers.tolist())


def explained_by(
    truth: Truth,
    outcome: NDArray[np.uint8],
    frame: NDArray[np.int32],
    declared: frozenset[Trait],
    limits: tuple[Limit, ...],
) -> NDArray[np.int8]:
    """For every step the first limit that covers its outcome, or UNEXPLAINED; an exact one needs none."""
    out = np.full(len(outcome), UNEXPLAINED, np.int8)
    steps = np.flatnonzero(outcome != EXACT)
    if not len(steps) or not limits:
        return out
    shown, last, first = outcome[steps], frame[steps, 0].astype(np.int64), frame[steps, 1].astype(np.int64)
    most = int((last - first).max())
    found = np.full(len(steps), UNEXPLAINED, np.int8)
    open_ones = np.ones(len(steps), np.bool_)
    further_in: dict[int, FrameTraits] = {}

    def traits(inner: int) -> FrameTraits:
        """Of the frames that lie so many further in than those where it shows."""
        if inner not in further_in:
            sites = frame_sites(truth.trace, truth.activations, truth.node, steps, np.maximum(last - inner, 0))
            further_in[inner] = FrameTraits(truth, sites, declared)
        return further_in[inner]

    for i, limit in enumerate(limits):
        candidates = np.array([outcome in limit.outcomes for outcome in OUTCOMES])[shown] & open_ones
        if not candidates.any():
            continue
        for back in range(most + 1):
            here = candidates & (last - back >= np.maximum(first, limit.inner))
            for trait in (limit.trait, *limit.also):
                if here.any():
                    here &= traits(back + limit.inner).at(trait)
            found[here] = i
            open_ones &= ~here
    out[steps] = found
    return out


class FrameTraits:
    """Which traits some frames have, observed or declared; each column is made once."""

    def __init__(self, truth: Truth, at: FrameSites, declared: frozenset[Trait]) -> None:
        self._truth, self._sites, self._declared = truth, at, declared
        self._made: dict[Trait, NDArray[np.bool_]] = {}

    def at(self, trait: Trait) -> NDArray[np.bool_]:
        if trait not in self._made:
            self._made[trait] = self._make(trait)
        return self._made[trait]

    def _make(self, trait: Trait) -> NDArray[np.bool_]:
        everywhere = np.full(len(self._sites), trait in self._declared)
        if trait in self._declared and trait in NARROWED:
            everywhere &= np.logical_or.reduce([self.at(narrowing) for narrowing in NARROWED[trait]])
        return everywhere if trait.declared else everywhere | trait_at(self._truth, self._sites, trait)
