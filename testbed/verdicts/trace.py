"""An unwinder judged at every step of a trace, without an object per step.

`testbed.judge` is the specification; outcomes, and what became of the assumption, come in columns here, and the verdict
on a step is made, by that same specification, when someone looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from testbed.contract.assumption import CodeRow, Record, RecordList, ShadowStack, StackWords, TableRow
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import HeldTo, Unwinder
from testbed.native.compiled import sooner
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth import Truth
from testbed.verdicts.assumptions import Failed, failed_at, read_along
from testbed.verdicts.assumptions.along import (
    NUMBERS,
    Accord,
    Failing,
    Sites,
    accord,
    check_assumption,
    promised_of,
    standing,
)
from testbed.verdicts.assumptions.code_rows import CodeRows
from testbed.verdicts.counts import ACCORDS, OUTCOMES, Callers, Counts, counted_columns
from testbed.verdicts.one import Verdict, counted, exact_verdict, judge_backtrace
from testbed.words.outcome import Outcome

NOTHING_SAID = Backtrace((), None)
EXACT = OUTCOMES.index(Outcome.EXACT)
_AT_ONCE = 1 << 13  # steps
STOPPED = np.array([outcome in (Outcome.REFUSED, Outcome.STOPPED) for outcome in OUTCOMES])
LYING = np.array([outcome.lying for outcome in OUTCOMES])  # by place in OUTCOMES


@dataclass(frozen=True, eq=False)
class Verdicts(Sequence[Verdict]):
    """One verdict per step. ``outcome`` indexes OUTCOMES, ``accord`` ACCORDS, ``clause`` the clauses of the unwinder's
    assumption, counted from 1; 0: none fails.

    ``frame`` is the frame at which it goes wrong and the innermost one at which it may have, 0 where nothing does.

    ``callers`` are those of all steps that count, outside transitions.
    """

    unwinder: Unwinder
    backtraces: Backtraces = field(repr=False)
    truth: Truth = field(repr=False)
    outcome: NDArray[np.uint8] = field(repr=False)
    frame: NDArray[np.int32] = field(repr=False)
    accord: NDArray[np.uint8] = field(repr=False)
    clause: NDArray[np.uint8] = field(repr=False)
    callers: Callers

    def __len__(self) -> int:
        return len(self.outcome)

    def __iter__(self) -> Iterator[Verdict]:
        return self.of_steps(range(len(self)))

    @overload
    def __getitem__(self, step: int) -> Verdict: ...
    @overload
    def __getitem__(self, step: slice) -> Sequence[Verdict]: ...
    def __getitem__(self, step: int | slice) -> Verdict | Sequence[Verdict]:
        if isinstance(step, slice):
            return tuple(self.of_steps(range(*step.indices(len(self)))))
        return self.at(range(len(self))[step])

    @property
    def transition(self) -> NDArray[np.bool_]:
        return self.truth.transition

    def at(self, step: int) -> Verdict:
        """The verdict on one step."""
        return next(self.of_steps([step]))

    def of_steps(self, steps: Sequence[int]) -> Iterator[Verdict]:
        """The verdicts on some steps. Words that no column has are made for many at once; an exact one needs none."""
        for first in range(0, len(steps), _AT_ONCE):
            some = steps[first : first + _AT_ONCE]
            exact = [self._exact(step) for step in some]
            left = [step for step, verdict in zip(some, exact, strict=True) if verdict is None]
            others = verdicts_at(self.truth, map(self.backtraces.__getitem__, left), self.unwinder, left)
            yield from (verdict or next(others) for verdict in exact)

    def _exact(self, step: int) -> Verdict | None:
        depth = self.backtraces.depth(step)
        if depth is None or self.outcome[step] != EXACT or self.clause[step]:
            return None
        verdict = exact_verdict(depth, ACCORDS[self.accord[step]], transition=bool(self.transition[step]))
        return replace(verdict, undecided=True) if self.truth.undecided[step] else verdict

    def counts(
        self, first: int = 0, end: int | None = None, phase: NDArray[np.int8] | None = None, *, wholes: bool = False
    ) -> Counts:
        """The verdicts on some steps (all, if none are named), counted; steps count from the first of them."""
        some = slice(first, end)
        every_caller = self.frame[some, 0] == self.truth.callers[self.truth.node[some]]
        return counted_columns(
            self.outcome[some],
            self.transition[some],
            self.callers,
            accord=self.accord[some],
            clause=self.clause[some],
            clauses=clause_names(self.unwinder),
            phase=phase,
            whole=STOPPED[self.outcome[some]] & every_caller if wholes else None,
            undecided=self.truth.undecided[some],
        )


def clause_names(unwinder: Unwinder) -> tuple[str, ...]:
    """The clauses of an unwinder's assumption by name, as columns number them: the first is that none fails."""
    return ("", *(clause.name for clause in unwinder.assumption.clauses)) if unwinder.assumption else ("",)


def counts_of(verdicts: Sequence[Verdict], phase: NDArray[np.int8] | None = None, *, wholes: bool = False) -> Counts:
    """The verdicts on all steps of a run, counted; by phase, where each step's number in PHASES is given."""
    if isinstance(verdicts, Verdicts):
        return verdicts.counts(phase=phase, wholes=wholes)
    return counted(verdicts, phase, wholes=wholes)


def verdicts_on(verdicts: Sequence[Verdict], steps: Sequence[int]) -> Iterator[Verdict]:
    """Those on some steps of a run, made together where they are made."""
    return verdicts.of_steps(steps) if isinstance(verdicts, Verdicts) else (verdicts[step] for step in steps)


def judge_trace(
    truth: Truth,
    backtraces: Backtraces,
    unwinder: Unwinder,
    *,
    steps: tuple[int, int] | None = None,
) -> Verdicts:
    """The verdicts on an unwinder's backtraces of every step.

    ``steps``: only those from the first to before the second count, of a trace that has rows besides.
    """
    from testbed.verdicts.native import UNJUDGED

    span = range(len(truth.node)) if steps is None else range(*steps)
    counted = np.zeros(len(truth.node), np.bool_)
    counted[span.start : span.stop] = ~truth.transition[span.start : span.stop]
    outcome, frame, callers = _outcomes(truth, backtraces, counted)
    beside = _beside_a_signal(truth)
    if beside.any():
        outcome, frame, callers = _outcomes(truth, backtraces, counted & ~beside)
        outcome[beside] = UNJUDGED
    changed = _changes_an_address(truth) & (outcome != EXACT) & (outcome != UNJUDGED)
    if changed.any():  # more than one pc may be right of a frame: only the specification knows
        outcome, frame, callers = _outcomes(truth, backtraces, counted & ~changed & ~beside)
        outcome[changed | beside] = UNJUDGED
    left = np.flatnonzero(outcome == UNJUDGED)
    first, place = distinct_rows(_pairs(truth, backtraces, left))
    times = np.bincount(place, counted[left], minlength=len(first)).astype(np.int64)
    kinds, frames = np.empty(len(first), np.uint8), np.empty((len(first), 2), np.int32)
    for i, step in enumerate(left[first].tolist()):
        verdict = judge_backtrace(truth.trace.arch, truth.stack(step), backtraces[step])
        kinds[i], frames[i] = OUTCOMES.index(verdict.outcome), (verdict.frame, verdict.since)
        callers += verdict.callers * int(times[i])
    outcome[left], frame[left] = kinds[place], frames[place]
    accords, clause = _accords(truth, backtraces, unwinder, outcome, frame, span)
    return Verdicts(unwinder, backtraces, truth, outcome, frame, accords, clause, callers)


def verdict_at(truth: Truth, said: Backtrace, unwinder: Unwinder | None, step: int) -> Verdict:
    """The verdict on what was said at a step, by the specification; with the unwinder given, it is held to more."""
    return next(verdicts_at(truth, [said], unwinder, [step]))


def verdicts_at(
    truth: Truth, said: Iterable[Backtrace], unwinder: Unwinder | None, steps: Sequence[int]
) -> Iterator[Verdict]:
    """The verdicts on what was said at some steps, one after the other."""
    held_to, assumption = (unwinder.held_to, unwinder.assumption) if unwinder else (HeldTo.HONESTY, None)
    failed = failed_at(truth, steps, assumption) if assumption else [None] * len(steps)
    for step, stack, each, where in zip(steps, truth.stacks(steps), said, failed, strict=True):
        transition = bool(truth.transition[step])
        verdict = judge_backtrace(truth.trace.arch, stack, each, held_to=held_to, failed=where, transition=transition)
        yield replace(verdict, undecided=True) if truth.undecided[step] else verdict


def failed_in(truth: Truth, unwinder: Unwinder, step: int) -> Failed | None:
    """Where an unwinder's assumption fails at a step; None where it holds, or none is stated."""
    return failed_at(truth, [step], unwinder.assumption)[0] if unwinder.assumption else None


def _accords(
    truth: Truth,
    backtraces: Backtraces,
    unwinder: Unwinder,
    outcome: NDArray[np.uint8],
    frame: NDArray[np.int32],
    span: range,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """By step how the answer stands to what the unwinder is held to, and the clause that fails.

    An assumption is evaluated once for each answer to an activation: many steps share both.
    """
    held_to, clauses = unwinder.held_to, clause_names(unwinder)
    if unwinder.assumption is None:
        by_outcome = [ACCORDS.index(accord(held_to, kind, (), NOTHING_SAID, None)) for kind in OUTCOMES]
        return np.array(by_outcome, np.uint8)[outcome], np.zeros(len(outcome), np.uint8)
    found, clause = np.zeros(len(outcome), np.uint8), np.zeros(len(outcome), np.uint8)
    steps = np.arange(span.start, span.stop)
    told = np.stack((outcome[steps], frame[steps, 0], frame[steps, 1]), axis=1).astype(np.uint64)
    if isinstance(unwinder.assumption, CodeRow):  # it goes by all that a frame holds at a step: no two share that
        first = place = np.arange(len(steps))
    else:
        answers = np.concatenate((told, _answers(truth, backtraces, unwinder, steps)), axis=1)
        first, place = distinct_rows(answers)
    where = _failing(truth, backtraces, unwinder, steps[first])
    beside = np.column_stack((told[first].astype(np.int64), where.frame, where.foretold))
    ways, way = distinct_rows(beside)
    accords = [ACCORDS.index(_standing(held_to, *each)) for each in beside[ways].tolist()]
    found[steps] = np.array(accords, np.uint8)[way][place]
    clause[steps] = _numbers(clauses)[where.clause][place]
    return found, clause


def _standing(held_to: HeldTo, outcome: int, last: int, innermost: int, at: int, foretold: int) -> Accord:
    frames = range(last, innermost - 1, -1)
    return standing(held_to, OUTCOMES[outcome], frames, None if at < 0 else at, bool(foretold))


def _numbers(clauses: tuple[str, ...]) -> NDArray[np.uint8]:
    """The number of each clause of any form among those of one assumption."""
    found = np.zeros(len(NUMBERS) + 1, np.uint8)
    for clause, number in NUMBERS.items():
        found[number] = clauses.index(clause.name) if clause.name in clauses else 0
    return found


def _failing(truth: Truth, backtraces: Backtraces, unwinder: Unwinder, steps: NDArray[np.int64]) -> Failing:
    """Where an assumption fails at some steps; an answer that was made by itself is looked at by itself."""
    assumption = unwinder.assumption
    assert assumption is not None
    if isinstance(assumption, CodeRow):
        return CodeRows.of(truth, steps).failing()
    alone = np.isin(steps, backtraces.slow_steps)
    many = len(steps)
    found = Failing(np.full(many, -1, np.int32), np.zeros(many, np.uint8), np.zeros(many, np.bool_))
    together = np.flatnonzero(~alone)
    if len(together):
        some = _failing_together(truth, backtraces, assumption, steps[together])
        found.frame[together], found.clause[together] = some.frame, some.clause
        found.foretold[together] = some.foretold
    by_themselves = np.flatnonzero(alone).tolist()
    failures = failed_at(truth, steps[by_themselves].tolist(), assumption)
    for i, failed in zip(by_themselves, failures, strict=True):
        if failed is None:
            continue
        found.frame[i], found.clause[i] = failed.frame, NUMBERS[failed.clause]
        said = backtraces.innermost(int(steps[i]), failed.frame + 2) if failed.foretold else NOTHING_SAID
        found.foretold[i] = failed.foretold is None or failed.foretold.is_said(said, failed.frame)
    return found


OfForm = Record | RecordList | ShadowStack | StackWords | TableRow


def _failing_together(truth: Truth, backtraces: Backtraces, assumption: OfForm, steps: NDArray[np.int64]) -> Failing:
    """Where an assumption fails at steps whose answers were made together.

    A table's row goes by the pc, at the innermost frame; of those further out nobody asks more than once for each
    answer to an activation.
    """

    def checked(steps: NDArray[np.int64], frames: int | None) -> Failing:
        sites = Sites(truth, steps)
        return check_assumption(sites, read_along(sites, assumption), backtraces, frames)

    if not isinstance(assumption, TableRow):
        return checked(steps, None)
    found = checked(steps, 1)
    holds = np.flatnonzero(found.frame < 0)
    if not len(holds):
        return found
    first, place = distinct_rows(_pairs(truth, backtraces, steps[holds]))
    further = checked(steps[holds[first]], None)
    found.frame[holds], found.clause[holds] = further.frame[place], further.clause[place]
    found.foretold[holds] = further.foretold[place]
    return found


def _answers(truth: Truth, backtraces: Backtraces, unwinder: Unwinder, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A row for each step: what is said, of which activation. Steps with equal rows share a clause.

    Where nothing is said behind the interrupted frame, its own SP and frame pointers say why. What a table says goes by
    the pc.
    """
    trace, arch = truth.trace, truth.trace.arch
    registers, silent = np.asarray(trace.registers), backtraces.sites.outer[backtraces.site[steps]] < 0
    why = np.array([arch.index[name] for name in (arch.sp, *arch.frame_pointers)])
    own = np.zeros((len(steps), len(why)), np.uint64)
    own[silent] = registers[steps[silent][:, None], why]
    columns = [_pairs(truth, backtraces, steps), own]
    if isinstance(unwinder.assumption, TableRow):
        columns.append(registers[steps, arch.index[arch.pc], None])
    return np.concatenate(columns, axis=1)


def _pairs(truth: Truth, backtraces: Backtraces, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A row for each step: the answer and the activation. An answer that was made by itself has a number of its own."""
    alone = np.where(np.isin(steps, backtraces.slow_steps), 1 + steps, 0)
    return np.stack([each.astype(np.uint64) for each in (backtraces.site[steps], truth.node[steps], alone)], axis=1)


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


def _judged(truth: Truth, names: Sequence[str]) -> NDArray[np.uint64]:
    """Of each activation the bits of the registers that are true of its caller: those that it promises, and SP."""
    promised, code = promised_of(truth)
    columns = promised[:, [truth.trace.arch.index[name] for name in names]].astype(np.uint64)
    bits: NDArray[np.uint64] = columns @ (np.uint64(1) << np.arange(len(names), dtype=np.uint64))
    return bits[code]


def _outcomes(
    truth: Truth, backtraces: Backtraces, counted: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], Callers]:
    """The outcome of every step and its frame; the callers of the ``counted`` ones among those that have an outcome."""
    from testbed.verdicts.native import JudgedSteps, SaidNodes, SaidSites, TrueStacks, depths, judge_steps

    trace, arch = truth.trace, truth.trace.arch
    names, nodes, sites = backtraces.registers, backtraces.nodes, backtraces.sites
    assert not names or names[0] == arch.sp
    true = truth.activations
    depth = np.empty(len(true), np.int32)
    sooner(depths, len(true))(true.parent, depth)
    stacks = TrueStacks(
        true.parent,
        true.return_address,
        true.cfa,
        true.opened,
        depth,
        np.asarray(trace.registers),
        np.array([arch.index[name] for name in names], np.int64),
        _judged(truth, names),
    )
    said = SaidNodes(
        *(nodes.pc, nodes.known, nodes.values, nodes.cfa, nodes.cfa_known, nodes.outer, nodes.end, nodes.depth),
        right=np.full(len(nodes), -1, np.int32),
        most=np.int64(backtraces.most_frames),
    )
    last = np.full((len(sites), 6), -1, np.int32)
    outcomes, frames = np.empty(len(backtraces), np.uint8), np.empty((len(backtraces), 2), np.int32)
    callers = np.zeros(3, np.int64)
    sooner(judge_steps, len(backtraces))(
        JudgedSteps(backtraces.site, truth.node, counted, outcomes, frames),
        SaidSites(sites.cfa, sites.cfa_known, sites.outer, last),
        said,
        stacks,
        np.zeros(backtraces.most_frames + 1, np.int32),
        callers,
    )
    return outcomes, frames, Callers(*callers.tolist())
