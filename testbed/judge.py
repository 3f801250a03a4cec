"""A strategy's backtrace beside the truth: the verdict.

With the true frames ``t[0..m]`` (innermost first, ``t[m]`` the root) and the claimed ones ``c[0..n]``:

* ``c == t`` and the root claimed: exact, if every claimed register and CFA is true;
* ``c`` a proper prefix of ``t``: ended_early if the root is claimed, else refused (n = 0) or stopped;
* a real tool that died or gave no answer: crashed or hung, if what it said before is a prefix of ``t``;
* ``c`` a subsequence of ``t``: skipped; ``t`` a subsequence of ``c``: phantom; anything else: wrong.

Only what is claimed is judged: a register that a frame does not mention is unknown, not wrong. Which registers
can be judged is the ABI's choice: the callee-saved ones, SP and pc; a caller-saved register has no true value
once the call was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.errors import ToolCrashed, ToolHung
from testbed.outcome import Outcome
from testbed.traits import Trait
from testbed.truth import CallStack, TrueFrame
from testbed.unwinder import Backtrace, Frame, Limit


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


def tally(verdicts: Sequence[Verdict]) -> Tally:
    """Count the verdicts on all steps of a run."""
    outcomes: Counter[Outcome] = Counter()
    shown: Counter[tuple[Trait, Outcome]] = Counter()
    transition = explained = unexplained = 0
    first = first_unexplained = -1
    for step, verdict in enumerate(verdicts):
        if verdict.transition:
            transition += 1
            continue
        outcomes[verdict.outcome] += 1
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
        len(verdicts), dict(outcomes), explained, unexplained, transition, dict(shown), first, first_unexplained
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
    return Verdict(outcome, depth, difference, explained, Trait.TRANSITION in traits)


def _compare(arch: Arch, true: Sequence[TrueFrame], said: Backtrace) -> tuple[Outcome, int, str]:
    claimed = said.frames
    true_pcs = [frame.pc for frame in true]
    claimed_pcs = [frame.pc for frame in claimed]
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
