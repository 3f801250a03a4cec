"""Symbolization beside the logical truth: which calls of the source it shows, invents, misses, or admits not to know.

Judged on the *true* physical frames, so that no unwinder's mistake counts here. For each frame: the function, by its
entry, and the functions that tail-called away above it, in order.

* the same: exact;
* said to be ambiguous: ambiguous, and honest, whatever the truth is;
* some of the true ones, or no name: missing;
* anything that was not there: invented.

A site is as good as its worst frame. Inlined calls leave no effect that could be watched: they are judged where a
program's header declares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from testbed.contract.unwinder import Frame, FrameKind
from testbed.image.debug.tail_chains import Certainty
from testbed.image.demangling import demangled
from testbed.naming.symbolize import NamedBacktrace, Origin, symbolize
from testbed.program.model import Expectation
from testbed.runs.run import Run
from testbed.truth.departures import Departures, TrueCalls, find_departures
from testbed.words.errors import UsageError


class NameOutcome(IntEnum):
    """How the named frames of a site compare with the logical truth; a greater one is worse."""

    EXACT = 0
    AMBIGUOUS = 1
    MISSING = 2
    INVENTED = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class NameVerdict:
    """The worst frame of a site decides; ``physical`` is its index, ``difference`` what is wrong with it."""

    outcome: NameOutcome
    physical: int = 0
    difference: str = ""


@dataclass(frozen=True)
class NameReport:
    """All sites of a run outside transitions; ``declared`` are the verdicts at the places of the header."""

    run: Run
    departures: Departures = field(repr=False)
    verdicts: Mapping[int, NameVerdict] = field(repr=False)
    declared: tuple[tuple[Expectation, int, NameVerdict], ...] = ()

    @property
    def counts(self) -> Mapping[NameOutcome, int]:
        found = Counter(verdict.outcome for verdict in self.verdicts.values())
        return {outcome: found[outcome] for outcome in NameOutcome}

    @property
    def invented(self) -> int:
        """The sites that say something untrue, declared ones included."""
        wrong = sum(verdict.outcome is NameOutcome.INVENTED for _, _, verdict in self.declared)
        return self.counts[NameOutcome.INVENTED] + wrong


def true_frames(run: Run, step: int) -> tuple[Frame, ...]:
    """The watched physical frames as an unwinder would give them."""
    return tuple(
        Frame(FrameKind.CALLER if f.calling else FrameKind.INTERRUPTED, f.pc, f.registers, f.cfa)
        for f in run.truth(step).frames
    )


def judge_names(run: Run) -> NameReport:
    """The verdict at every step of a run, and at the places that its header declares."""
    departures = find_departures(run.watched)
    kept: dict[tuple[object, ...], NameVerdict] = {}
    verdicts = {}
    for step in range(len(run)):
        if run.watched.transition[step]:
            continue
        calls = departures.calls(step)
        key = (run.truth(step).pcs, calls)
        if key not in kept:
            kept[key] = judge_site(calls, symbolize(run.trace.images, true_frames(run, step)))
        verdicts[step] = kept[key]
    declared = tuple(
        (expectation, step, judge_declared(run, departures, expectation, step))
        for expectation in run.built.source.header.logical
        for step in steps_of(run, expectation)
    )
    return NameReport(run, departures, verdicts, declared)


def judge_site(calls: Sequence[TrueCalls], said: NamedBacktrace) -> NameVerdict:
    """The verdict on one site's named frames."""
    worst = NameVerdict(NameOutcome.EXACT)
    for i, true in enumerate(calls):
        outcome, difference = _judge_frame(true, said, i)
        if outcome > worst.outcome:
            worst = NameVerdict(outcome, i, difference)
    return worst


def _judge_frame(true: TrueCalls, said: NamedBacktrace, i: int) -> tuple[NameOutcome, str]:
    named = said.of(i)
    function = next((frame for frame in named if frame.origin is Origin.PHYSICAL), None)
    if function is None:
        return NameOutcome.MISSING, f"frame {i} is not there"
    if true.function is not None and function.entry is None:
        return NameOutcome.MISSING, f"frame {i} has no name"
    if true.function is not None and function.entry != true.function:
        return NameOutcome.INVENTED, f"frame {i}: {function} begins at {function.entry:#x}, not {true.function:#x}"
    gone = tuple(f.entry for f in named if f.origin is Origin.TAIL_CALL and f.entry is not None)
    if not _is_subsequence(gone, true.gone):
        return NameOutcome.INVENTED, f"frame {i}: tail calls {_hex(gone)}, not {_hex(true.gone)}"
    unsure = said.unsure_at(i)
    if unsure is not None and unsure.certainty is Certainty.AMBIGUOUS:
        return NameOutcome.AMBIGUOUS, f"frame {i}: {unsure}"
    if gone != true.gone:
        why = f" ({unsure.because})" if unsure is not None else ""
        return NameOutcome.MISSING, f"frame {i}: {len(true.gone) - len(gone)} tail calls not shown{why}"
    return NameOutcome.EXACT, ""


def steps_of(run: Run, expectation: Expectation) -> tuple[int, ...]:
    """The steps at a declared place. Raises UsageError where it is never reached."""
    at = expectation.location if expectation.visit is None else f"{expectation.location}#{expectation.visit}"
    first = run.step_at(at)
    if expectation.visit is not None:
        return (first,)
    pc = int(run.trace.pc[first])
    return tuple(step for step, each in enumerate(run.trace.pc.tolist()) if each == pc)


def judge_declared(run: Run, departures: Departures, expectation: Expectation, step: int) -> NameVerdict:
    """What is said at a declared place beside what the header says: the names in order, with how each came there.

    Raises UsageError where the header itself disagrees with what was watched.
    """
    declared = [_word(word) for word in expectation.frames]
    watched = [len(calls.gone) for calls in departures.calls(step)]
    if sum(origin is Origin.TAIL_CALL for origin, _ in declared) != sum(watched):
        raise UsageError(f"{expectation.location}: {sum(watched)} tail calls were watched, not what the header says")
    said = symbolize(run.trace.images, true_frames(run, step))
    claimed = [(frame.origin, frame.function) for frame in said.frames]
    if claimed == declared:
        return NameVerdict(NameOutcome.EXACT)
    text = f"{' < '.join(map(str, said.frames))}, declared {', '.join(expectation.frames)}"
    if not _is_subsequence(claimed, declared):
        return NameVerdict(NameOutcome.INVENTED, 0, text)
    inlined = [one for one in declared if one[0] is not Origin.TAIL_CALL]
    unsure = any(one.certainty is Certainty.AMBIGUOUS for one in said.unsure)
    if unsure and [one for one in claimed if one[0] is not Origin.TAIL_CALL] == inlined:
        return NameVerdict(NameOutcome.AMBIGUOUS, 0, text)
    return NameVerdict(NameOutcome.MISSING, 0, text)


def _word(word: str) -> tuple[Origin, str]:
    if word[:1] == "[":
        return Origin.INLINED, demangled(word[1:-1])
    if word[:1] == "<":
        return Origin.TAIL_CALL, demangled(word[1:-1])
    return Origin.PHYSICAL, demangled(word)


def _is_subsequence(inner: Sequence[object], outer: Sequence[object]) -> bool:
    rest = iter(outer)
    return all(one in rest for one in inner)


def _hex(entries: Sequence[int]) -> str:
    return "[" + ", ".join(f"{entry:#x}" for entry in entries) + "]"
