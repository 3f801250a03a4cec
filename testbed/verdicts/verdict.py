"""What a verdict is, in words, how it stands to its technique's assumption, and the counts of many.

How it is found is `testbed.verdicts.native`, and why it is so `testbed.verdicts.assumptions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, HeldTo
from testbed.truth import TrueFrame
from testbed.truth.phases import PHASES, Phase
from testbed.verdicts.assumptions.along import Failed, first_false
from testbed.words.outcome import Outcome

# How an answer stands to the assumption of its technique: three things are asked of it.
#
# * theorem: the assumption holds at frames 0 to k, so frames 0 to k + 1 of the answer are right;
# * converse: it fails at frame k, so the answer goes wrong there;
# * foretelling: there the answer says what the clause that fails foretells.


class Accord(Enum):
    """How an answer stands to what its unwinder is held to."""

    HOLDS = "the assumption holds at every frame, and the answer is exact"
    FAILS = "the assumption fails at a frame, and the answer goes wrong there, as foretold"
    LUCK = "the assumption fails at a frame, and the answer is right there all the same"
    UNFOUNDED = "the answer is wrong at a frame at which the assumption holds"
    OTHERWISE = "the assumption fails at a frame, and the answer goes wrong elsewhere or otherwise than foretold"
    OPEN = "what the trace shows does not decide: open"
    HONEST = "no assumption is stated, and nothing false is claimed"
    DISHONEST = "no assumption is stated, and something false is claimed, or there is no answer"
    UNCLAIMED = "not explained: nothing is claimed of a closed tool"

    @property
    def unforetold(self) -> bool:
        """True where an assumption is stated, and the answer is not what it foretells."""
        return self in (Accord.UNFOUNDED, Accord.OTHERWISE)

    @property
    def unexplained(self) -> bool:
        """True where a run of the unwinder fails."""
        return self.unforetold or self is Accord.DISHONEST


def accord(held_to: HeldTo, outcome: Outcome, frames: Sequence[int], said: Backtrace, failed: Failed | None) -> Accord:
    """How an answer stands to what its unwinder is held to.

    ``frames`` are those at which it may go wrong (`testbed.verdicts.verdict`); ``failed`` is where the assumption
    fails, None where it holds at every frame.
    """
    foretold = failed is not None and (failed.foretold is None or failed.foretold.is_said(said, failed.frame))
    return standing(held_to, outcome, frames, None if failed is None else failed.frame, foretold)


def standing(held_to: HeldTo, outcome: Outcome, frames: Sequence[int], at: int | None, foretold: bool) -> Accord:
    """The same; ``at`` is the frame at which the assumption fails, and the answer says there what is ``foretold``."""
    if held_to is HeldTo.COUNTS:
        return Accord.UNCLAIMED
    if held_to is HeldTo.HONESTY:
        dead = outcome in (Outcome.CRASHED, Outcome.HUNG)
        return Accord.DISHONEST if outcome.lying or dead else Accord.HONEST
    stands = _beside_an_assumption(outcome, frames, at, foretold)
    return Accord.OPEN if held_to is HeldTo.OPEN and stands not in (Accord.HOLDS, Accord.FAILS) else stands


def _beside_an_assumption(outcome: Outcome, frames: Sequence[int], at: int | None, foretold: bool) -> Accord:
    if outcome is Outcome.EXACT:
        return Accord.HOLDS if at is None else Accord.LUCK
    if at is None or max(frames) < at:
        return Accord.UNFOUNDED
    if at not in frames:  # it is right where it should not be, and wrong further out
        return Accord.OTHERWISE
    return Accord.FAILS if foretold else Accord.OTHERWISE


OUTCOMES, ACCORDS = tuple(Outcome), tuple(Accord)


# Judged sites, counted: the one value that cells, scores, processes and called functions are added up in.
#
# What is told apart of a site is its `SiteKind`. One more thing to tell apart is one more field of it: sums stay as
# they are.


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

    def __mul__(self, times: int) -> Callers:
        return Callers(self.said * times, self.true * times, self.found * times)

    @property
    def precision(self) -> float | None:
        """None where nothing was said."""
        return self.found / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """None where there is nothing to find."""
        return self.found / self.true if self.true else None


NO_CALLERS = Callers()


class SiteKind(NamedTuple):
    """What is told apart of a judged site.

    ``accord``: how the answer stands to what its unwinder is held to. ``clause``: the name of the clause of the
    assumption that fails; "" where none does. ``phase``: None where nobody asked for it. ``whole``: it stopped
    honestly, behind the last true caller; False where nobody asked.
    """

    outcome: Outcome
    accord: Accord = Accord.HONEST
    clause: str = ""
    phase: Phase | None = None
    whole: bool = False

    @property
    def exact(self) -> bool:
        return self.outcome is Outcome.EXACT

    @property
    def lying(self) -> bool:
        return self.outcome.lying

    @property
    def stopped(self) -> bool:
        return not self.exact and not self.lying

    @property
    def dead(self) -> bool:
        return self.outcome in (Outcome.CRASHED, Outcome.HUNG)

    @property
    def unexplained(self) -> bool:
        return self.accord.unexplained


@dataclass(frozen=True)
class Counts:
    """Judged sites by kind. exact + stopped + lying = judged.

    ``transition`` more sites have no single right answer, and of ``undecided`` ones no effect tells whose they are:
    they are in ``sites``, and in no other count. ``firsts`` are the first steps of each kind, counted from the first
    site.
    """

    kinds: Mapping[SiteKind, int] = field(default_factory=dict)
    firsts: Mapping[SiteKind, int] = field(default_factory=dict)
    transition: int = 0
    callers: Callers = NO_CALLERS
    undecided: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together: the steps of the other come behind."""
        before = self.sites
        return Counts(
            dict(Counter(self.kinds) + Counter(other.kinds)),
            {**{kind: step + before for kind, step in other.firsts.items()}, **self.firsts},
            self.transition + other.transition,
            self.callers + other.callers,
            self.undecided + other.undecided,
        )

    def number(self, chosen: Callable[[SiteKind], bool]) -> int:
        """How many sites are of the chosen kinds."""
        return sum(number for kind, number in self.kinds.items() if chosen(kind))

    def first_step(self, chosen: Callable[[SiteKind], bool]) -> int:
        """The first step of one of the chosen kinds; -1: there is none."""
        return min((step for kind, step in self.firsts.items() if chosen(kind)), default=-1)

    def within(self, phase: Phase) -> Counts:
        """The judged sites of one phase alone."""
        return Counts({kind: number for kind, number in self.kinds.items() if kind.phase is phase})

    @property
    def sites(self) -> int:
        return self.judged + self.transition + self.undecided

    @property
    def judged(self) -> int:
        return sum(self.kinds.values())

    @property
    def exact(self) -> int:
        return self.number(lambda kind: kind.exact)

    @property
    def lying(self) -> int:
        """Sites at which something false is claimed, foretold or not."""
        return self.number(lambda kind: kind.lying)

    @property
    def stopped(self) -> int:
        """Sites at which nothing false is claimed, and not all is said."""
        return self.number(lambda kind: kind.stopped)

    @property
    def dead(self) -> int:
        """Those of the stops that are crashes, or no answer in time."""
        return self.number(lambda kind: kind.dead)

    @property
    def whole(self) -> int:
        """Those of the stops before which every caller was found."""
        return self.number(lambda kind: kind.whole)

    @property
    def foretold(self) -> int:
        """Sites at which the assumption fails, and the answer goes wrong as the clause foretells."""
        return self.number(lambda kind: kind.accord is Accord.FAILS)

    @property
    def luck(self) -> int:
        """Sites at which the assumption fails, and the answer is right there all the same."""
        return self.number(lambda kind: kind.accord is Accord.LUCK)

    @property
    def open(self) -> int:
        """Sites at which an assumption that the trace does not decide says nothing of the answer."""
        return self.number(lambda kind: kind.accord is Accord.OPEN)

    @property
    def unexplained(self) -> int:
        return self.number(lambda kind: kind.unexplained)

    @property
    def unforetold(self) -> int:
        """Those of the unexplained that an assumption speaks against: the others are lies and failures."""
        return self.number(lambda kind: kind.accord.unforetold)

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How many sites came out as what, in the order of outcomes."""
        found = Counter[Outcome]()
        for kind, number in self.kinds.items():
            found[kind.outcome] += number
        return {outcome: found[outcome] for outcome in OUTCOMES if outcome in found}

    @property
    def shown(self) -> Mapping[tuple[str, Outcome], int]:
        """How many sites that are not exact each clause foretells, by what they came out as."""
        found = Counter[tuple[str, Outcome]]()
        for kind, number in self.kinds.items():
            if kind.clause and not kind.exact:
                found[kind.clause, kind.outcome] += number
        return dict(found)

    @property
    def points(self) -> float:
        """The share of exact sites minus that of lies, in percent."""
        return 100 * (self.exact - self.lying) / self.judged if self.judged else 0.0


NOTHING_COUNTED = Counts()


def counted_columns(
    outcome: NDArray[np.uint8],
    transition: NDArray[np.bool_],
    callers: Callers = NO_CALLERS,
    *,
    accord: NDArray[np.uint8],
    clause: NDArray[np.integer] | None = None,
    clauses: Sequence[str] = ("",),
    phase: NDArray[np.int8] | None = None,
    whole: NDArray[np.bool_] | None = None,
    undecided: NDArray[np.bool_] | None = None,
) -> Counts:
    """Sites in columns, counted: ``outcome`` numbers OUTCOMES, ``accord`` ACCORDS, ``clause`` the ``clauses``,
    ``phase`` PHASES. Nobody is judged in ``transition``; some of these sites are ``undecided``.
    """
    judged = ~transition
    plain = judged & (outcome == OUTCOMES.index(Outcome.EXACT)) & (accord == ACCORDS.index(Accord.HOLDS))
    sites = np.flatnonzero(judged if phase is not None else judged & ~plain)  # most are plain: of one kind
    code = outcome[sites].astype(np.int32) * len(ACCORDS) + accord[sites]
    for column, most in ((clause, len(clauses)), (phase, len(PHASES)), (whole, 2)):
        if column is not None:
            code *= most
            code += column[sites]
    numbers = np.bincount(code)
    kinds, firsts = Counter[SiteKind](), dict[SiteKind, int]()
    if phase is None and plain.any():
        kinds[SiteKind(Outcome.EXACT, Accord.HOLDS)] = int(np.count_nonzero(plain))
        firsts[SiteKind(Outcome.EXACT, Accord.HOLDS)] = int(np.argmax(plain))
    for place in np.flatnonzero(numbers).tolist():
        first = int(sites[np.argmax(code == place)])
        kind = SiteKind(
            OUTCOMES[outcome[first]],
            ACCORDS[accord[first]],
            "" if clause is None else clauses[clause[first]],
            None if phase is None else PHASES[phase[first]],
            whole is not None and bool(whole[first]),
        )
        kinds[kind] += int(numbers[place])
        firsts[kind] = min(firsts.get(kind, first), first)
    unsaid = 0 if undecided is None else int(np.count_nonzero(undecided))
    return Counts(dict(kinds), firsts, len(outcome) - kinds.total() - unsaid, callers, unsaid)


def difference(arch: Arch, true: Sequence[TrueFrame], said: Backtrace, right: int, wrong: int) -> str:
    """What is wrong first of a backtrace with so many right frames, which goes wrong at the frame ``wrong``."""
    if not said.frames or said.frames[0].pc != true[0].pc:
        return "the innermost frame is not the interrupted one"
    if right == len(said.frames):
        stop = said.stopped
        return f"after frame {right - 1}: {stop.reason}: {stop}" if stop else f"frame {right - 1} is not the root"
    claimed = said.frames[right]
    if right == len(true):
        return f"frame {right}: {claimed.pc:#x} never was"
    here = true[right]
    if right == wrong:
        return f"frame {right}: CFA {claimed.cfa:#x}, not {here.cfa:#x}"
    if not here.is_at(claimed.pc):
        return f"frame {right}: {claimed.pc:#x}, not {here.pc:#x}"
    return f"frame {right}: {_lie(arch, here, claimed)}"


def _lie(arch: Arch, true: TrueFrame, claimed: Frame) -> str:
    """What a frame with the right pc and CFA says wrongly."""
    if true.interrupted and claimed.kind is FrameKind.CALLER:
        return "said to be behind a call, and a signal interrupted it"
    if true.calling and claimed.kind is FrameKind.INTERRUPTED:
        return "said to be interrupted, and it is behind a call"
    name = first_false(arch, true, claimed.registers)
    return f"{name} {claimed.registers[name]:#x}, not {true.registers[name]:#x}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one backtrace compares with the truth at one site.

    ``depth`` counts the leading frames that are right in every claim. ``difference`` says in a few words what is wrong
    first; ``frame`` is the frame at which it goes wrong, 0 where nothing does; ``since`` the innermost one at which it
    may have. ``failed`` is where the unwinder's assumption fails, None where it holds or none is stated, and ``accord``
    how the answer stands to that. In ``transition`` nobody is judged, of some steps because the truth is ``undecided``.
    ``said`` is the backtrace, where that is kept (`first_answers`).
    """

    outcome: Outcome
    depth: int
    difference: str = ""
    failed: Failed | None = field(default=None, compare=False)
    accord: Accord = Accord.HONEST
    transition: bool = False
    callers: Callers = NO_CALLERS
    frame: int = 0
    since: int = 0
    said: Backtrace | None = field(default=None, compare=False, repr=False)
    undecided: bool = False

    @property
    def exact(self) -> bool:
        return self.outcome is Outcome.EXACT

    @property
    def whole(self) -> bool:
        """True where every caller was found, and it was not said that the last one is the root."""
        return self.outcome in (Outcome.REFUSED, Outcome.STOPPED) and self.callers.found == self.callers.true

    @property
    def clause(self) -> str:
        """The name of the clause that fails; "" where none does."""
        return self.failed.clause.name if self.failed else ""

    @property
    def unexplained(self) -> bool:
        """True where the answer is not what its unwinder is held to: the site fails the run."""
        return self.accord.unexplained and not self.transition

    def __str__(self) -> str:
        because = f" ({self.clause})" if self.failed else ""
        return f"{self.outcome.value}{because}" + (f": {self.difference}" if self.difference else "")


def first_answers(judged: Iterable[tuple[Verdict, Backtrace]]) -> Iterator[Verdict]:
    """Verdicts, with the backtrace of the first of each kind: what a run's first difference is told of.

    An unwinder need not say the same when it is asked again, as a program that hung is not asked any more.
    """
    kinds = set[tuple[Outcome, bool]]()
    for verdict, said in judged:
        kind = verdict.outcome, verdict.unexplained
        if verdict.exact or verdict.transition or kind in kinds:
            yield verdict
        else:
            kinds.add(kind)
            yield replace(verdict, said=said)


def counted(verdicts: Iterable[Verdict], phase: Iterable[int] | None = None, *, wholes: bool = False) -> Counts:
    """Verdicts on the steps of a run, counted. ``phase`` numbers PHASES; with ``wholes`` it is told where all callers
    were found before a stop."""
    kinds, firsts = Counter[SiteKind](), dict[SiteKind, int]()
    callers, transition, undecided = NO_CALLERS, 0, 0
    phases = repeat(None) if phase is None else (PHASES[number] for number in phase)
    for step, (verdict, where) in enumerate(zip(verdicts, phases, strict=False)):
        if verdict.transition:
            transition, undecided = transition + (not verdict.undecided), undecided + verdict.undecided
            continue
        kind = SiteKind(verdict.outcome, verdict.accord, verdict.clause, where, wholes and verdict.whole)
        kinds[kind] += 1
        firsts.setdefault(kind, step)
        callers += verdict.callers
    return Counts(dict(kinds), firsts, transition, callers, undecided)


def exact_verdict(depth: int, stands: Accord = Accord.HONEST, *, transition: bool = False) -> Verdict:
    """The verdict on a backtrace of ``depth`` frames that is the whole truth."""
    callers = Callers(depth - 1, depth - 1, depth - 1)
    return Verdict(Outcome.EXACT, depth, accord=stands, transition=transition, callers=callers)
