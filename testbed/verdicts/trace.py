"""An unwinder judged at every step of a trace, without an object per step.

Outcomes, and what became of the assumption, come in columns here; the verdict on a step is made when someone looks at
it. Backtraces that come one by one are put into columns, and judged by the same rules (`testbed.verdicts.native`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from testbed.contract.assumption import Assumption, CodeRow, Record, RecordList, ShadowStack, StackWords, TableRow
from testbed.contract.native import ROOT
from testbed.contract.native import STOPPED as NO_CALLER
from testbed.contract.unwinder import Backtrace, Backtraces, Frame, FrameKind, HeldTo, Unwinder
from testbed.native.compiled import sooner
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth import Truth
from testbed.verdicts.assumptions import failed_at, read_along
from testbed.verdicts.assumptions.along import NUMBERS, Failing, Sites, check_assumption, promised_of
from testbed.verdicts.assumptions.code_rows import CodeRows
from testbed.verdicts.assumptions.rows import read_by_rows
from testbed.verdicts.native import UNJUDGED, JudgedSteps, SaidNodes, SaidSites, TrueStacks, judge_steps
from testbed.verdicts.verdict import (
    ACCORDS,
    OUTCOMES,
    Accord,
    Callers,
    Counts,
    Verdict,
    accord,
    counted,
    counted_columns,
    difference,
    exact_verdict,
    standing,
)
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.outcome import Outcome

NOTHING_SAID = Backtrace((), None)
EXACT = OUTCOMES.index(Outcome.EXACT)
_AT_ONCE = 1 << 13  # steps
_TOGETHER = 1 << 16  # steps whose assumption is evaluated in columns: a kilobyte and more of each
_WORD = (1 << 64) - 1
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
    span = range(len(truth.node)) if steps is None else range(*steps)
    judged = _judged(truth, truth.node, _in_columns(backtraces))
    left = np.flatnonzero(judged.outcome == UNJUDGED)
    first, place = distinct_rows(_pairs(truth, backtraces, left))
    alone = left[first]
    answers = _put_in_columns(truth, alone, map(backtraces.__getitem__, alone.tolist()))
    others = _judged(truth, truth.node[alone], answers)
    judged.outcome[left], judged.frame[left] = others.outcome[place], others.frame[place]
    judged.callers[left] = others.callers[place]
    accords, clause = _accords(truth, backtraces, unwinder, judged.outcome, judged.frame, span)
    counted = np.flatnonzero(~truth.transition[span.start : span.stop]) + span.start
    said, found = judged.callers[counted].sum(axis=0, dtype=np.int64).tolist()
    callers = Callers(said, int(truth.callers[truth.node[counted]].sum()), found)
    return Verdicts(unwinder, backtraces, truth, judged.outcome, judged.frame, accords, clause, callers)


def verdict_at(truth: Truth, said: Backtrace, unwinder: Unwinder | None, step: int) -> Verdict:
    """The verdict on one backtrace; with the unwinder given, it is held to more."""
    return next(verdicts_at(truth, [said], unwinder, [step]))


def verdicts_at(
    truth: Truth,
    said: Iterable[Backtrace],
    unwinder: Unwinder | None,
    steps: Sequence[int],
    held_to: HeldTo | None = None,
) -> Iterator[Verdict]:
    """The verdicts on what was said at some steps, one after the other; ``held_to`` None: what the unwinder is."""
    own, assumption = (unwinder.held_to, unwinder.assumption) if unwinder else (HeldTo.HONESTY, None)
    answers = iter(said)
    for first in range(0, len(steps), _AT_ONCE):
        some = np.array(steps[first : first + _AT_ONCE], np.int64)
        yield from _verdicts(truth, list(islice(answers, len(some))), some, assumption, held_to or own)


def _verdicts(
    truth: Truth,
    said: Sequence[Backtrace],
    steps: NDArray[np.int64],
    assumption: Assumption | None,
    held_to: HeldTo,
) -> Iterator[Verdict]:
    failed = failed_at(truth, steps.tolist(), assumption) if assumption else [None] * len(steps)
    judged = _judged(truth, truth.node[steps], _put_in_columns(truth, steps, said))
    stacks = truth.stacks(steps[judged.outcome != EXACT].tolist())
    own = (truth.transition[steps], truth.undecided[steps], truth.callers[judged.node])
    columns = (judged.outcome, judged.frame, judged.depth, judged.callers, *own)
    for each, where, kind, (frame, since), depth, (claimed, found), transition, undecided, callers in zip(
        said, failed, *(column.tolist() for column in columns), strict=True
    ):
        outcome = OUTCOMES[kind]
        if isinstance(each.stopped, ToolCrashed | ToolHung) and outcome in (Outcome.REFUSED, Outcome.STOPPED):
            outcome = Outcome.CRASHED if isinstance(each.stopped, ToolCrashed) else Outcome.HUNG
        yield Verdict(
            outcome,
            depth,
            difference(truth.trace.arch, next(stacks).frames, each, depth, frame) if kind != EXACT else "",
            where,
            accord(held_to, outcome, range(frame, since - 1, -1), each, where),
            transition,
            Callers(claimed, callers, found),
            frame,
            since,
            undecided=undecided,
        )


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
    by_code = isinstance(unwinder.assumption, CodeRow)  # it goes by all that a frame holds at a step: no two share that
    together = max(len(span), 1) if by_code else _TOGETHER
    for begin in range(span.start, span.stop, together):
        steps = np.arange(begin, min(begin + together, span.stop))
        told = np.stack((outcome[steps], frame[steps, 0], frame[steps, 1]), axis=1).astype(np.uint64)
        first = place = np.arange(len(steps))
        if not by_code:
            first, place = distinct_rows(np.concatenate((told, _answers(truth, backtraces, unwinder, steps)), axis=1))
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
    found = Failing.nowhere(len(steps))
    together = np.flatnonzero(~alone)
    found.put(together, _failing_together(truth, backtraces, assumption, steps[together]))
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

    A table's row goes by the pc and by registers that the row before gave: of a caller nobody asks more than once for
    each answer to an activation.
    """
    sites = Sites(truth, steps)
    return check_assumption(sites, read_along(sites, assumption), backtraces, once=isinstance(assumption, TableRow))


def _answers(truth: Truth, backtraces: Backtraces, unwinder: Unwinder, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A row for each step: what is said, of which activation. Steps with equal rows share a clause.

    Where nothing is said behind the interrupted frame, its own SP and frame pointers say why. What a table says goes by
    the row.
    """
    trace, arch = truth.trace, truth.trace.arch
    registers, silent = np.asarray(trace.registers), backtraces.sites.outer[backtraces.site[steps]] < 0
    why = np.array([arch.index[name] for name in (arch.sp, *arch.frame_pointers)])
    own = np.zeros((len(steps), len(why)), np.uint64)
    own[silent] = registers[steps[silent][:, None], why]
    columns = [_pairs(truth, backtraces, steps), own]
    if isinstance(unwinder.assumption, TableRow):
        columns.append(read_by_rows(Sites(truth, steps), unwinder.assumption))
    return np.concatenate(columns, axis=1)


def _pairs(truth: Truth, backtraces: Backtraces, steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A row for each step: the answer and the activation. An answer that was made by itself has a number of its own."""
    alone = np.where(np.isin(steps, backtraces.slow_steps), 1 + steps, 0)
    return np.stack([each.astype(np.uint64) for each in (backtraces.site[steps], truth.node[steps], alone)], axis=1)


class _SaidColumns(NamedTuple):
    """Backtraces in columns: the site of each, what sites say, and what their callers say."""

    site: NDArray[np.int32]
    sites: SaidSites
    nodes: SaidNodes


def _in_columns(said: Backtraces) -> _SaidColumns:
    """Backtraces that come in columns."""
    nodes, sites, index = said.nodes, said.sites, said.trace.arch.index
    nowhere, never = np.zeros(len(sites), np.bool_), np.zeros(len(nodes), np.bool_)
    columns = np.array([index[name] for name in said.registers], np.int64)
    return _SaidColumns(
        said.site,
        SaidSites(sites.cfa, sites.cfa_known, sites.outer, nowhere, np.full((len(sites), 7), -1, np.int32)),
        SaidNodes(
            *(nodes.pc, nodes.known, nodes.values, nodes.cfa, nodes.cfa_known, nodes.outer, nodes.end, nodes.depth),
            *(never, columns, np.full(len(nodes), -1, np.int32), np.int64(said.most_frames)),
        ),
    )


class _SaidInnermost(NamedTuple):
    """What one backtrace says of the interrupted frame: a row of `SaidSites`."""

    cfa: int | None
    outer: int
    elsewhere: bool


class _SaidCaller(NamedTuple):
    """What one frame says of a caller: a row of `SaidNodes`."""

    pc: int
    registers: tuple[int | None, ...]
    cfa: int | None
    outer: int
    depth: int
    interrupted: bool


def _put_in_columns(truth: Truth, steps: NDArray[np.int64], said: Iterable[Backtrace]) -> _SaidColumns:
    """Backtraces of some steps that come one by one; frames that say the same of the same callers are one node."""
    arch = truth.trace.arch
    promised = set(np.flatnonzero(promised_of(truth)[0].any(axis=0) | truth.activations.signal.any()).tolist())
    names = [name for name, i in arch.index.items() if i in promised and name not in (arch.pc, arch.flags)]
    callers, innermost, site = dict[_SaidCaller, int](), dict[_SaidInnermost, int](), []
    for pc, each in zip(truth.trace.pc[steps].tolist(), said, strict=True):
        outer = ROOT if each.stopped is None else NO_CALLER
        for depth, frame in enumerate(reversed(each.frames[1:]), 1):
            registers = tuple(map(frame.registers.get, names))
            caller = _SaidCaller(frame.pc, registers, frame.cfa, outer, depth, frame.kind is FrameKind.INTERRUPTED)
            outer = callers.setdefault(caller, len(callers))
        first = each.frames[0] if each.frames else Frame(FrameKind.INTERRUPTED, -1, {})
        site.append(innermost.setdefault(_SaidInnermost(first.cfa, outer, first.pc != pc), len(innermost)))
    values, known = _words([value for caller in callers for value in caller.registers])
    bits = known.reshape(-1, len(names)) @ (np.uint64(1) << np.arange(len(names), dtype=np.uint64))
    return _SaidColumns(
        np.array(site, np.int32),
        SaidSites(
            *_words([each.cfa for each in innermost]),
            outer=np.array([each.outer for each in innermost], np.int32),
            elsewhere=np.array([each.elsewhere for each in innermost], np.bool_),
            last=np.full((len(innermost), 7), -1, np.int32),
        ),
        SaidNodes(
            _words([each.pc for each in callers])[0],
            bits,
            values.reshape(-1, len(names)),
            *_words([each.cfa for each in callers]),
            outer=np.array([each.outer for each in callers], np.int32),
            end=np.full(len(callers), ROOT, np.int32),
            depth=np.array([each.depth for each in callers], np.int32),
            interrupted=np.array([each.interrupted for each in callers], np.bool_),
            columns=np.array([arch.index[name] for name in names], np.int64),
            right=np.full(len(callers), -1, np.int32),
            most=np.int64(len(callers) + 2),
        ),
    )


def _words(numbers: Sequence[int | None]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Numbers as words, 0 where there is none, and where there is one."""
    words = np.array([(number or 0) & _WORD for number in numbers], np.uint64)
    return words, np.array([number is not None for number in numbers], np.bool_)


def _judged(truth: Truth, node: NDArray[np.int32], said: _SaidColumns) -> JudgedSteps:
    """What came of backtraces beside the stacks of activations."""
    true, (promised, convention), many = truth.activations, promised_of(truth), len(node)
    stacks = TrueStacks(
        *(true.parent, true.return_address, true.goes_on, true.cfa, true.opened, true.signal),
        *(truth.callers, convention, promised),
        np.asarray(truth.trace.registers),
        np.int64(truth.trace.arch.index[truth.trace.arch.sp]),
    )
    outcome, pairs = np.empty(many, np.uint8), np.empty((2, many, 2), np.int32)
    judged = JudgedSteps(said.site, node, outcome, pairs[0], np.empty(many, np.int32), pairs[1])
    row = np.zeros(int(said.nodes.depth.max(initial=0)) + 1, np.int32)
    sooner(judge_steps, many)(judged, said.sites, said.nodes, stacks, row)
    return judged
