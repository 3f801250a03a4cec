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
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from testbed.arch import Arch
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Limit
from testbed.truth import CallStack, TrueFrame
from testbed.truth.phases import PHASES
from testbed.verdicts.comparing import claimed_pcs, compare
from testbed.verdicts.counts import NO_CALLERS, Callers, Counts, SiteKind
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait


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
    def whole(self) -> bool:
        """True where every caller was found, and it was not said that the last one is the root."""
        return self.outcome in (Outcome.REFUSED, Outcome.STOPPED) and self.callers.found == self.callers.true

    @property
    def unexplained(self) -> bool:
        """True where nothing excuses the difference: the site fails the matrix."""
        return not self.exact and self.explained_by is None and not self.transition

    def __str__(self) -> str:
        because = f" ({self.explained_by.mechanism})" if self.explained_by else ""
        return f"{self.outcome.value}{because}" + (f": {self.difference}" if self.difference else "")


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


def counted(verdicts: Iterable[Verdict], phase: Iterable[int] | None = None, *, wholes: bool = False) -> Counts:
    """Verdicts on the steps of a run, counted. ``phase`` numbers PHASES; with ``wholes`` it is told where all callers
    were found before a stop."""
    kinds, firsts = Counter[SiteKind](), dict[SiteKind, int]()
    callers, transition = NO_CALLERS, 0
    phases = repeat(None) if phase is None else (PHASES[number] for number in phase)
    for step, (verdict, where) in enumerate(zip(verdicts, phases, strict=False)):
        if verdict.transition:
            transition += 1
            continue
        cause = verdict.explained_by.mechanism if verdict.explained_by else ""
        kind = SiteKind(verdict.outcome, cause, where, wholes and verdict.whole)
        kinds[kind] += 1
        firsts.setdefault(kind, step)
        callers += verdict.callers
    return Counts(dict(kinds), firsts, transition, callers)


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
