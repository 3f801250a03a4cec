"""Judged sites, counted: the one value that cells, scores, processes and called functions are added up in.

What is told apart of a site is its `SiteKind`. One more thing to tell apart is one more field of it: sums stay as they
are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.truth.phases import PHASES, Phase
from testbed.verdicts.accord import Accord
from testbed.words.outcome import Outcome

OUTCOMES, ACCORDS = tuple(Outcome), tuple(Accord)


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
