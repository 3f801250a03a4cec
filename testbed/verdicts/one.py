"""A strategy's backtrace beside the truth: the verdict.

With the true frames ``t[0..m]`` (innermost first, ``t[m]`` the root) and the claimed ones ``c[0..n]``:

* ``c == t`` and the root claimed: exact, if every claimed register and CFA is true;
* ``c`` a proper prefix of ``t``: ended_early if the root is claimed, else refused (n = 0) or stopped;
* a real tool that died or gave no answer: crashed or hung, if what it said before is a prefix of ``t``;
* ``c`` a subsequence of ``t``: skipped; ``t`` a subsequence of ``c``: phantom; anything else: wrong.

A claimed pc is that of a true frame if `TrueFrame.is_at` says so: where a callee changes its return address on purpose,
both are right.

Only what is claimed is judged: a register that a frame does not mention is unknown, not wrong. Which registers
can be judged is the ABI's choice: the callee-saved ones, SP and pc; a caller-saved register has no true value
once the call was made. What a frame's pc is (`FrameKind`) is judged where a signal interrupted the frame, and where a
call returns to it.

Where it goes wrong, and so what can explain it, is in `testbed.verdicts.comparing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from testbed.arch import Arch
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Limit
from testbed.truth import CallStack, TrueFrame
from testbed.verdicts.comparing import claimed_pcs, compare
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait


@dataclass(frozen=True, slots=True)
class Callers:
    """How many callers were said, how many there truly are, and how many true ones were found.

    ``found`` is the length of a longest common subsequence, by pc, of the callers said and the true ones, innermost
    first: every true caller is found once at most, and in its order. By pc alone: a scanner claims no CFA. The
    interrupted frame, which is given, counts nowhere.

    * precision = found / said: the share of what is said that is true;
    * recall = found / true: the share of what is true that is said.
    """

    said: int = 0
    true: int = 0
    found: int = 0

    def __add__(self, other: Callers) -> Callers:
        return Callers(self.said + other.said, self.true + other.true, self.found + other.found)

    @property
    def precision(self) -> float | None:
        """None where nothing was said."""
        return self.found / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """None where there is nothing to find."""
        return self.found / self.true if self.true else None


NO_CALLERS = Callers()


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one backtrace compares with the truth at one site.

    ``depth`` counts the leading frames that are right in every claim; ``explained_by`` is the declared limit
    that covers a site that is not exact. ``difference`` says in a few words what is wrong first; ``frame`` is the frame
    at which it goes wrong, 0 where nothing does; ``since`` the innermost one at which it may have. ``said`` is
    the backtrace, where that is kept (`first_answers`).
    """

    outcome: Outcome
    depth: int
    difference: str = ""
    explained_by: Limit | None = None
    transition: bool = False
    callers: Callers = NO_CALLERS
    frame: int = 0
    since: int = 0
    said: Backtrace | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        return self.outcome is Outcome.EXACT

    @property
    def unexplained(self) -> bool:
        """True where nothing excuses the difference: the site fails the matrix."""
        return not self.exact and self.explained_by is None and not self.transition

    def __str__(self) -> str:
        because = f" ({self.explained_by.mechanism})" if self.explained_by else ""
        return f"{self.outcome.value}{because}" + (f": {self.difference}" if self.difference else "")


@dataclass(frozen=True, slots=True)
class Tally:
    """Verdicts, counted. ``transition`` sites are in ``sites`` only, in no other count.

    ``shown`` counts the (limit's mechanism, outcome) pairs; ``first`` is the first step that is not exact,
    ``first_unexplained`` the first that nothing excuses, ``first_lie`` the first that claims something false; -1: none.
    ``said`` is what was said at these, where that is kept.
    """

    sites: int
    outcomes: Mapping[Outcome, int]
    explained: int
    unexplained: int
    transition: int
    shown: Mapping[tuple[str, Outcome], int]
    first: int
    first_unexplained: int
    callers: Callers = NO_CALLERS
    first_lie: int = -1
    said: Mapping[int, Backtrace] = field(default_factory=dict, compare=False, repr=False)


NOTHING_TALLIED = Tally(0, {}, 0, 0, 0, {}, -1, -1)


def joined(before: Tally, after: Tally) -> Tally:
    """Two parts of a run counted together; the steps of ``after`` come behind those of ``before``."""

    def first(earlier: int, later: int) -> int:
        return earlier if earlier >= 0 else later + before.sites if later >= 0 else -1

    return Tally(
        before.sites + after.sites,
        Counter(before.outcomes) + Counter(after.outcomes),
        before.explained + after.explained,
        before.unexplained + after.unexplained,
        before.transition + after.transition,
        Counter(before.shown) + Counter(after.shown),
        first(before.first, after.first),
        first(before.first_unexplained, after.first_unexplained),
        before.callers + after.callers,
        first(before.first_lie, after.first_lie),
        {**{step + before.sites: said for step, said in after.said.items()}, **before.said},
    )


def first_answers(judged: Iterable[tuple[Verdict, Backtrace]]) -> Iterator[Verdict]:
    """Verdicts, with the backtrace of the first of each kind: what a run's first difference is told of.

    A strategy need not say the same when it is asked again, as a program that hung is not asked any more.
    """
    kinds = set[tuple[Outcome, bool]]()
    for verdict, said in judged:
        kind = verdict.outcome, verdict.explained_by is None
        if verdict.exact or verdict.transition or kind in kinds:
            yield verdict
        else:
            kinds.add(kind)
            yield replace(verdict, said=said)


def tally(verdicts: Iterable[Verdict]) -> Tally:
    """Count the verdicts on all steps of a run."""
    outcomes: Counter[Outcome] = Counter()
    shown: Counter[tuple[str, Outcome]] = Counter()
    transition = explained = unexplained = 0
    first = first_unexplained = first_lie = -1
    said = true = found = sites = 0
    kept: dict[int, Backtrace] = {}
    for step, verdict in enumerate(verdicts):
        sites += 1
        if verdict.transition:
            transition += 1
            continue
        outcomes[verdict.outcome] += 1
        said, true = said + verdict.callers.said, true + verdict.callers.true
        found += verdict.callers.found
        if verdict.exact:
            continue
        if verdict.said is not None:
            kept[step] = verdict.said
        first = step if first < 0 else first
        first_lie = step if first_lie < 0 and verdict.outcome.lying else first_lie
        if verdict.explained_by:
            explained += 1
            shown[verdict.explained_by.mechanism, verdict.outcome] += 1
        else:
            unexplained += 1
            first_unexplained = step if first_unexplained < 0 else first_unexplained
    return Tally(
        sites,
        dict(outcomes),
        explained,
        unexplained,
        transition,
        dict(shown),
        first,
        first_unexplained,
        Callers(said, true, found),
        first_lie,
        {step: kept[step] for step in (first, first_unexplained, first_lie) if step in kept},
    )


def judge_backtrace(
    arch: Arch,
    truth: CallStack,
    said: Backtrace,
    *,
    traits: Callable[[int], Container[Trait]] = lambda frame: (),
    limits: Iterable[Limit] = (),
    transition: bool = False,
) -> Verdict:
    """The verdict on one backtrace. An empty backtrace is wrong: nothing compared is never a pass.

    ``traits`` says what is true of a frame, counted from the innermost; it is asked of the one where it goes wrong.
    """
    outcome, depth, difference, frames = compare(arch, truth.frames, said)
    explained = None
    if outcome is not Outcome.EXACT:
        fitting = (limit for limit in limits if outcome in limit.outcomes)  # few: most limits are about other outcomes
        explained = next((li for li in fitting if any(li.covers(outcome, frame, traits) for frame in frames)), None)
    callers = _callers(outcome, truth.frames, claimed_pcs(truth.frames, said.frames))
    return Verdict(outcome, depth, difference, explained, transition, callers, frames[0], frames[-1])


def exact_verdict(depth: int, *, transition: bool = False) -> Verdict:
    """The verdict on a backtrace of ``depth`` frames that is the whole truth."""
    return Verdict(Outcome.EXACT, depth, transition=transition, callers=Callers(depth - 1, depth - 1, depth - 1))


def _callers(outcome: Outcome, true: Sequence[TrueFrame], said: Sequence[int]) -> Callers:
    claimed, there = max(len(said) - 1, 0), len(true) - 1
    if outcome is Outcome.PHANTOM:
        return Callers(claimed, there, there)
    if outcome is not Outcome.WRONG:  # a prefix of the truth, or a part of it in its order
        return Callers(claimed, there, claimed)
    return Callers(claimed, there, common(said[1:], [frame.pc for frame in true[1:]]))


def common(said: Sequence[int], true: Sequence[int]) -> int:
    """The length of a longest common subsequence."""
    start, most = 0, min(len(said), len(true))
    while start < most and said[start] == true[start]:
        start += 1
    end = 0
    while end < most - start and said[-1 - end] == true[-1 - end]:
        end += 1
    inner = said[start : len(said) - end]
    row = [0] * (len(inner) + 1)
    for pc in true[start : len(true) - end]:
        diagonal = 0
        for j, claimed in enumerate(inner, 1):
            above = row[j]
            row[j] = diagonal + 1 if claimed == pc else max(above, row[j - 1])
            diagonal = above
    return start + end + row[-1]
