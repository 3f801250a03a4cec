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
once the call was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.unwinder import Limit
from testbed.truth import CallStack, TrueFrame
from testbed.words.errors import ToolCrashed, ToolHung
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
    that covers a site that is not exact. ``difference`` says in a few words what is wrong first.
    """

    outcome: Outcome
    depth: int
    difference: str = ""
    explained_by: Limit | None = None
    transition: bool = False
    callers: Callers = NO_CALLERS

    @property
    def exact(self) -> bool:
        return self.outcome is Outcome.EXACT

    @property
    def unexplained(self) -> bool:
        """True where nothing excuses the difference: the site fails the matrix."""
        return not self.exact and self.explained_by is None and not self.transition

    def __str__(self) -> str:
        because = f" ({self.explained_by.trait.name})" if self.explained_by else ""
        return f"{self.outcome.value}{because}" + (f": {self.difference}" if self.difference else "")


@dataclass(frozen=True, slots=True)
class Tally:
    """Verdicts, counted. ``transition`` sites are in ``sites`` only, in no other count.

    ``shown`` counts the (limit's trait, outcome) pairs; ``first`` is the first step that is not exact,
    ``first_unexplained`` the first that nothing excuses; -1: there is none.
    """

    sites: int
    outcomes: Mapping[Outcome, int]
    explained: int
    unexplained: int
    transition: int
    shown: Mapping[tuple[Trait, Outcome], int]
    first: int
    first_unexplained: int
    callers: Callers = NO_CALLERS


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
    )


def tally(verdicts: Sequence[Verdict]) -> Tally:
    """Count the verdicts on all steps of a run."""
    outcomes: Counter[Outcome] = Counter()
    shown: Counter[tuple[Trait, Outcome]] = Counter()
    transition = explained = unexplained = 0
    first = first_unexplained = -1
    said = true = found = 0
    for step, verdict in enumerate(verdicts):
        if verdict.transition:
            transition += 1
            continue
        outcomes[verdict.outcome] += 1
        said, true = said + verdict.callers.said, true + verdict.callers.true
        found += verdict.callers.found
        if verdict.exact:
            continue
        first = step if first < 0 else first
        if verdict.explained_by:
            explained += 1
            shown[verdict.explained_by.trait, verdict.outcome] += 1
        else:
            unexplained += 1
            first_unexplained = step if first_unexplained < 0 else first_unexplained
    return Tally(
        len(verdicts),
        dict(outcomes),
        explained,
        unexplained,
        transition,
        dict(shown),
        first,
        first_unexplained,
        Callers(said, true, found),
    )


def judge_backtrace(
    arch: Arch,
    truth: CallStack,
    said: Backtrace,
    *,
    traits: frozenset[Trait] = frozenset(),
    limits: Iterable[Limit] = (),
) -> Verdict:
    """The verdict on one backtrace. An empty backtrace is wrong: nothing compared is never a pass."""
    outcome, depth, difference = _compare(arch, truth.frames, said)
    explained = None
    if outcome is not Outcome.EXACT:
        explained = next((li for li in limits if li.trait in traits and outcome in li.outcomes), None)
    callers = _callers(outcome, truth.frames, _claimed_pcs(truth.frames, said.frames))
    return Verdict(outcome, depth, difference, explained, Trait.TRANSITION in traits, callers)


def exact_verdict(depth: int, *, transition: bool = False) -> Verdict:
    """The verdict on a backtrace of ``depth`` frames that is the whole truth."""
    return Verdict(Outcome.EXACT, depth, transition=transition, callers=Callers(depth - 1, depth - 1, depth - 1))


def _claimed_pcs(true: Sequence[TrueFrame], said: Sequence[Frame]) -> list[int]:
    """The pcs of a backtrace; one that is right of a frame, though it is not its return address, is taken for that."""
    changed = [frame for frame in true if frame.goes_on is not None]
    pcs = [frame.pc for frame in said]
    if changed:
        plain = {frame.pc for frame in true}
        for i, pc in enumerate(pcs[1:], 1):
            if pc not in plain:
                pcs[i] = next((frame.pc for frame in changed if frame.is_at(pc)), pc)
    return pcs


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


def _compare(arch: Arch, true: Sequence[TrueFrame], said: Backtrace) -> tuple[Outcome, int, str]:
    claimed = said.frames
    true_pcs = [frame.pc for frame in true]
    claimed_pcs = _claimed_pcs(true, claimed)
    agreed = 0
    while agreed < min(len(true_pcs), len(claimed_pcs)) and true_pcs[agreed] == claimed_pcs[agreed]:
        agreed += 1
    if agreed == 0:
        return Outcome.WRONG, 0, "the innermost frame is not the interrupted one"
    is_prefix = agreed == len(claimed_pcs)
    kind = _kind(true_pcs, claimed_pcs, said, is_prefix)
    for i in range(agreed):
        if lie := _wrong_claim(arch, true[i], claimed[i], innermost=i == 0):
            # A wrong pc, or a false root, is the graver lie and names the outcome; the register still counts.
            hidden = kind.lying
            return kind if hidden else Outcome.WRONG_REGISTER, i, f"frame {i}: {lie}"
    return kind, agreed, _difference(true, said, agreed)


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


def _wrong_claim(arch: Arch, true: TrueFrame, claimed: Frame, *, innermost: bool) -> str:
    """The first register or CFA that a frame claims wrongly; "" if there is none."""
    if claimed.cfa is not None and true.cfa is not None and claimed.cfa != true.cfa:
        return f"CFA {claimed.cfa:#x}, not {true.cfa:#x}"
    if innermost:
        return ""  # its registers were given, not recovered
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
