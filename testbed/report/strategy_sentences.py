"""What a strategy sees of a run, in one sentence, by what the instructions did to the frame.

::

    sees leaf's caller from leaf+0x8 on: `mov x29, sp` links the frame record; loses it at leaf+0x10: `ldp x29, x30,
    [sp], #0x10` unlinks the frame record

The sentence is about one activation, in which the strategy goes wrong by the mechanism that costs it most steps (a lie
before an honest stop), the innermost of them. Where its verdict changes there, the instruction in front has changed a
trait of that mechanism (`testbed.words.traits`), and the trait says what the instruction did. Nothing is known of any
program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from testbed.contract.unwinder import Limit
from testbed.runs.run import Run
from testbed.verdicts.one import Verdict
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

MOST_CHANGES = 3
# What an instruction did where a frame has a trait no longer, and where it has it from there on.
_ENDED = {
    Trait.UNLINKED: "links the frame record",
    Trait.PROLOGUE: "finishes the frame",
    Trait.RETURN_UNSAVED: "stores the return address",
    Trait.UNSAVED: "saves the last register",
    Trait.UNKEPT: "stores the return address",
    Trait.LINK_STALE: "brings the return address back into the link register",
    Trait.LINK_LIVE: "leaves another address in the link register",
    Trait.LEFTOVER: "overwrites an old return address",
    Trait.FIRST: "was the first instruction",
    Trait.FP_REUSED: "gives the frame pointer back",
    Trait.FRAME_ELSEWHERE: "makes the frame",
    Trait.MOVED_UP: "brings SP back",
    Trait.WRONG_TABLE: "is the last one with a wrong row",
    Trait.NO_TABLE: "is the last one without a row",
}
_BEGUN = {
    Trait.UNLINKED: "unlinks the frame record",
    Trait.EPILOGUE: "gives up the frame",
    Trait.PROLOGUE: "begins to make the frame",
    Trait.LINK_STALE: "leaves another address in the link register",
    Trait.LINK_LIVE: "brings the return address back into the link register",
    Trait.UNKEPT: "takes the return address off the stack",
    Trait.KEPT_ELSEWHERE: "takes the return address off the stack",
    Trait.LEFTOVER: "leaves a return address on the stack",
    Trait.FP_REUSED: "uses the frame pointer for something else",
    Trait.FRAME_ELSEWHERE: "takes the frame away",
    Trait.ROW_BEGINS: "changes what the row describes",
    Trait.MOVED_UP: "moves SP into the caller's frame",
    Trait.SIGNED: "signs the return address",
    Trait.WRONG_TABLE: "is the last one with a right row",
    Trait.NO_TABLE: "is the last one with a row",
    Trait.BEHIND_WRONG: "is the last one with a wrong row",
    Trait.RETURN_CHANGED: "changes the return address",
}


def strategy_sentence(run: Run, verdicts: Sequence[Verdict]) -> str:
    """What a strategy sees, told of one activation in which it goes wrong."""
    bad = {step: each for step, each in enumerate(verdicts) if not each.exact and not each.transition}
    if not bad:
        return "right at every instruction"
    first = _telling(run, bad)
    verdict = bad[first]
    if verdict.frame:
        return _further_out(run, first, verdict)
    own = np.flatnonzero(run.watched.node == run.watched.node[first]).tolist()
    function = run.function(int(run.trace.pc[first]))
    changes = list(_changes(verdicts, own))
    if verdict.outcome is Outcome.WRONG_REGISTER:
        return f"finds all callers, but not every register from {_where(run, first)} on: {_why(verdict)}"
    if not changes:
        return f"never sees {function}'s caller: {_why(verdict)}"
    told = [_told(run, verdicts, before, after, verdict.explained_by) for before, after in changes[:MOST_CHANGES]]
    more = len(changes) - len(told)
    of = ("it" if i else f"{function}'s caller" for i in range(len(told)))
    parts = [text.format(of=each) for text, each in zip(told, of, strict=True)]
    return "; ".join(parts) + (f"; changes {more} times more" if more > 1 else "; and once more" if more else "")


def _telling(run: Run, bad: dict[int, Verdict]) -> int:
    """The step to tell of: by the mechanism that costs most steps, lies before stops, and of these the innermost."""
    some = {step: each for step, each in bad.items() if each.outcome.lying} or bad
    most, _ = Counter(_mechanism(each) for each in some.values()).most_common(1)[0]
    deep, node = _depths(run), run.watched.node
    return max((k for k, each in some.items() if _mechanism(each) == most), key=lambda k: (deep[node[k]], -k))


@lru_cache(maxsize=4)
def _depths(run: Run) -> tuple[int, ...]:
    """How many callers each activation has."""
    deep: list[int] = []
    for parent in run.watched.activations.parent.tolist():
        deep.append(0 if parent < 0 else deep[parent] + 1)
    return tuple(deep)


def _further_out(run: Run, step: int, verdict: Verdict) -> str:
    """What goes wrong at a frame that is not the innermost one."""
    frames = run.truth(step).frames
    who = f" at {run.frame_names(frames)[verdict.frame]}" if verdict.frame < len(frames) else ""
    out = "1 frame" if verdict.frame == 1 else f"{verdict.frame} frames"
    return f"{'goes wrong' if verdict.outcome.lying else 'stops'}{who}, {out} further out: {_why(verdict)}"


def _mechanism(verdict: Verdict) -> tuple[str, bool]:
    return (verdict.explained_by.mechanism if verdict.explained_by else "", verdict.frame > 0)


def _right(verdict: Verdict) -> bool:
    """True where the innermost frame's caller is found: what goes wrong further out is another matter."""
    return verdict.exact or verdict.frame > 0


def _changes(verdicts: Sequence[Verdict], own: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring steps of an activation: at one of them its caller is found, at the other it is not."""
    own = [step for step in own if not verdicts[step].transition]
    for before, after in pairwise(own):
        if _right(verdicts[before]) is not _right(verdicts[after]):
            yield before, after


def _told(run: Run, verdicts: Sequence[Verdict], before: int, after: int, told_of: Limit | None) -> str:
    """One change; ``{of}`` stands for whose caller."""
    found = _right(verdicts[after])
    limit = (verdicts[before] if found else verdicts[after]).explained_by
    head = f"sees {{of}} from {_where(run, after)} on" if found else f"loses {{of}} at {_where(run, after)}"
    instruction = run.instruction(before).replace("{", "{{").replace("}", "}}")
    did = _did(run, before, after, limit, found)
    if did:
        return f"{head}: `{instruction}` {did}"
    why = f" ({_clause(limit.because)})" if limit and not found else ""
    return f"{head}, behind `{instruction}`{why}"


def _did(run: Run, before: int, after: int, limit: Limit | None, found: bool) -> str:
    """What the instruction between two steps did to the traits that explain the one which is not exact."""
    if limit is None or limit.inner:
        return ""
    words, has, lacks = (_ENDED, before, after) if found else (_BEGUN, after, before)
    for trait in words:
        if (
            trait in (limit.trait, *limit.also)
            and trait in run.lazy_traits(has, 0)
            and trait not in run.lazy_traits(lacks, 0)
        ):
            return words[trait]
    return ""


def _where(run: Run, step: int) -> str:
    return run.where(int(run.trace.pc[step]))


def _why(verdict: Verdict) -> str:
    limit = verdict.explained_by
    return _clause(limit.because) if limit else f"UNEXPLAINED, {verdict.difference}"


def _clause(text: str) -> str:
    """The first clause of a reason."""
    return re.split(r"[;:(]", text)[0].strip().replace("{", "{{").replace("}", "}}")
