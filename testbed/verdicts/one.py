"""What a verdict is, and what a backtrace says wrongly first, in words.

How it is found is `testbed.verdicts.native`, and why it is so `testbed.verdicts.assumptions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.truth import TrueFrame
from testbed.truth.phases import PHASES
from testbed.verdicts.accord import Accord
from testbed.verdicts.assumptions.along import Failed, first_false
from testbed.verdicts.counts import NO_CALLERS, Callers, Counts, SiteKind
from testbed.words.outcome import Outcome


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
