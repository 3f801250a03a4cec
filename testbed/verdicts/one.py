"""An unwinder's backtrace beside the truth: the verdict.

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

Where it goes wrong is found in `testbed.verdicts.one`, and why in `testbed.verdicts.assumptions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import HeldTo
from testbed.truth import CallStack, TrueFrame
from testbed.truth.phases import PHASES
from testbed.verdicts.assumptions.along import Accord, Failed, accord
from testbed.verdicts.counts import NO_CALLERS, Callers, Counts, SiteKind
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.outcome import Outcome

# A backtrace beside the true frames: the outcome, and the frame at which it goes wrong.
#
# A verdict goes wrong at one frame: the first whose own unwinding gave something false. That is the frame itself where
# its CFA is false, the one further in where a register or the pc is, the last one that is right where a backtrace
# ends. Where functions have called themselves return addresses repeat; if nothing but pcs is claimed, a caller that is
# left out or said twice among them shows at their end only, and any of these frames may be the one.


def claimed_pcs(true: Sequence[TrueFrame], said: Sequence[Frame]) -> list[int]:
    """The pcs of a backtrace; one that is right of a frame, though it is not its return address, is taken for that."""
    changed = [frame for frame in true if frame.goes_on is not None]
    pcs = [frame.pc for frame in said]
    if changed:
        plain = {frame.pc for frame in true}
        for i, pc in enumerate(pcs[1:], 1):
            if pc not in plain:
                pcs[i] = next((frame.pc for frame in changed if frame.is_at(pc)), pc)
    return pcs


def compare(arch: Arch, true: Sequence[TrueFrame], said: Backtrace) -> tuple[Outcome, int, str, Sequence[int]]:
    """The outcome, how many frames are right, what is wrong first, and the frames at which it may go wrong."""
    claimed = said.frames
    true_pcs = [frame.pc for frame in true]
    said_pcs = claimed_pcs(true, claimed)
    agreed = 0
    while agreed < min(len(true_pcs), len(said_pcs)) and true_pcs[agreed] == said_pcs[agreed]:
        agreed += 1
    if agreed == 0:
        return Outcome.WRONG, 0, "the innermost frame is not the interrupted one", (0,)
    is_prefix = agreed == len(said_pcs)
    kind = _kind(true_pcs, said_pcs, said, is_prefix)
    for i in range(agreed):
        outcome = kind if kind.lying else Outcome.WRONG_REGISTER
        # A wrong pc, or a false root, is the graver lie and names the outcome; the register still counts.
        # What the frame further in gave comes first: the CFA may be computed from it.
        if i and (lie := _wrong_kind(true[i], claimed[i]) or _wrong_register(arch, true[i], claimed[i])):
            return outcome, i, f"frame {i}: {lie}", (i - 1,)
        if lie := _wrong_cfa(true[i], claimed[i]):
            return outcome, i, f"frame {i}: {lie}", (i,)
    frames = (0,) if kind is Outcome.EXACT else range(agreed - 1, _since(true, claimed, agreed - 1) - 1, -1)
    return kind, agreed, _difference(true, said, agreed), frames


def _kind(true: list[int], claimed: list[int], said: Backtrace, is_prefix: bool) -> Outcome:
    if is_prefix and isinstance(said.stopped, ToolCrashed | ToolHung):
        return Outcome.CRASHED if isinstance(said.stopped, ToolCrashed) else Outcome.HUNG
    if is_prefix and said.stopped is not None:
        return Outcome.REFUSED if len(claimed) == 1 and len(true) > 1 else Outcome.STOPPED
    if is_prefix:
        return Outcome.EXACT if len(claimed) == len(true) else Outcome.ENDED_EARLY
    if _is_subsequence(claimed, true):
        return Outcome.SKIPPED
    if _is_subsequence(true, claimed):
        return Outcome.PHANTOM
    return Outcome.WRONG


def _is_subsequence(inner: list[int], outer: list[int]) -> bool:
    rest = iter(outer)
    return all(pc in rest for pc in inner)


def _since(true: Sequence[TrueFrame], said: Sequence[Frame], frame: int) -> int:
    """The innermost frame from which on all return addresses up to that of ``frame`` occur more than once."""
    often = {pc for chain in (true, said) for pc, times in Counter(each.pc for each in chain[1:]).items() if times > 1}
    while frame > 0 and said[frame].pc in often and _bare(said[frame]):
        frame -= 1
    return frame


def _bare(frame: Frame) -> bool:
    """True where nothing is claimed but the pc."""
    return frame.cfa is None and len(frame.registers) == 1


def _wrong_cfa(true: TrueFrame, claimed: Frame) -> str:
    """What is wrong about the CFA that a frame claims; "" if nothing is."""
    if claimed.cfa is not None and true.cfa is not None and claimed.cfa != true.cfa:
        return f"CFA {claimed.cfa:#x}, not {true.cfa:#x}"
    return ""


def _wrong_kind(true: TrueFrame, claimed: Frame) -> str:
    """What is wrong about what a frame's pc is said to be: of a signal's trampoline either will do."""
    if true.interrupted and claimed.kind is FrameKind.CALLER:
        return "said to be behind a call, and a signal interrupted it"
    if true.calling and claimed.kind is FrameKind.INTERRUPTED:
        return "said to be interrupted, and it is behind a call"
    return ""


def _wrong_register(arch: Arch, true: TrueFrame, claimed: Frame) -> str:
    """The first register that a frame claims wrongly; "" if there is none. The interrupted frame's were given."""
    # Of a caller the truth knows what a call preserves; of a frame that a signal interrupted, every register.
    for name in true.registers:
        if name in (arch.pc, arch.flags):
            continue
        value = claimed.registers.get(name)
        if value is not None and value != true.registers[name]:
            return f"{name} {value:#x}, not {true.registers[name]:#x}"
    return ""


def _difference(true: Sequence[TrueFrame], said: Backtrace, agreed: int) -> str:
    if agreed < len(said.frames) and agreed < len(true):
        return f"frame {agreed}: {said.frames[agreed].pc:#x}, not {true[agreed].pc:#x}"
    if agreed < len(said.frames):
        return f"frame {agreed}: {said.frames[agreed].pc:#x} never was"
    if said.stopped is not None:
        return f"after frame {agreed - 1}: {said.stopped.reason}: {said.stopped}"
    return f"frame {agreed - 1} is not the root" if agreed < len(true) else ""


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


def judge_backtrace(
    arch: Arch,
    truth: CallStack,
    said: Backtrace,
    *,
    held_to: HeldTo = HeldTo.HONESTY,
    failed: Failed | None = None,
    transition: bool = False,
) -> Verdict:
    """The verdict on one backtrace. An empty backtrace is wrong: nothing compared is never a pass.

    ``failed`` is where the assumption of who said it fails, if one is stated.
    """
    outcome, depth, difference, frames = compare(arch, truth.frames, said)
    stands = accord(held_to, outcome, frames, said, failed)
    callers = _callers(outcome, truth.frames, claimed_pcs(truth.frames, said.frames))
    return Verdict(outcome, depth, difference, failed, stands, transition, callers, frames[0], frames[-1])


def exact_verdict(depth: int, stands: Accord = Accord.HONEST, *, transition: bool = False) -> Verdict:
    """The verdict on a backtrace of ``depth`` frames that is the whole truth."""
    callers = Callers(depth - 1, depth - 1, depth - 1)
    return Verdict(Outcome.EXACT, depth, accord=stands, transition=transition, callers=callers)


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
