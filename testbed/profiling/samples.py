"""What a sampling profiler would have seen of a process: every N-th step, its true stack and what an unwinder says.

A stack is the names of functions, outermost first. A sample is *misplaced* where an unwinder's names are not the true
ones: a flame graph then shows its time elsewhere. It is *cut* where they are the innermost true ones: time in the right
function, under the wrong callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum
from functools import cached_property

from testbed.contract.unwinder import Frame, Unwinder
from testbed.image import LoadedImage, describe, image_covering
from testbed.naming.symbolize import name_of
from testbed.profiling.result import CodePart, WatchedProcess, WatchedThread, parts_of, starts_program
from testbed.truth import TrueFrame

Stack = tuple[str, ...]
TRUTH = "truth"
CUT = "(not known)"  # stands before the frames of an answer that stops


class Mark(Enum):
    """What is wrong with a frame of an unwinder's stack beside the true one."""

    RIGHT = ""
    LOST = "lost"  # it is in the true stack only
    INVENTED = "invented"  # it is in the unwinder's only


Marked = tuple[tuple[str, Mark], ...]


@dataclass(frozen=True, eq=False)
class SampledProfile:
    """Samples of one unwinder, or of the truth: which true stack was ``seen`` as which, one after the other.

    ``own`` are the functions of the program's own files among all names.
    """

    name: str
    every: int
    seen: Sequence[tuple[Stack, Stack]] = field(repr=False)
    own: frozenset[str] = field(repr=False)

    @property
    def samples(self) -> int:
        return len(self.seen)

    @cached_property
    def pairs(self) -> Counter[tuple[Stack, Stack]]:
        """How often which true stack was seen as which."""
        return Counter(self.seen)

    @property
    def stacks(self) -> Counter[Stack]:
        """How often each stack was said."""
        return Counter(said for _, said in self.seen)

    @property
    def misplaced(self) -> int:
        return sum(count for (true, said), count in self.pairs.items() if known(said) != true)

    @property
    def cut(self) -> int:
        return sum(
            count
            for (true, said), count in self.pairs.items()
            if known(said) != true and true[len(true) - len(known(said)) :] == known(said)
        )

    @property
    def inner(self) -> SampledProfile:
        """The same from the program's outermost function inward, of the samples that have one on the true stack."""
        inner = {
            (true, said): (inward(true, self.own), inward(known(said), self.own))
            for true, said in self.pairs
            if not self.own.isdisjoint(true)
        }
        return SampledProfile(self.name, self.every, [inner[pair] for pair in self.seen if pair in inner], self.own)

    def under(self, function: str) -> int:
        """The samples in which a function is on the stack that was said."""
        return sum(count for (_, said), count in self.pairs.items() if function in said)

    def marked(self) -> Counter[Marked]:
        """How often each stack was said, with what is lost and invented in it."""
        found: Counter[Marked] = Counter()
        for (true, said), count in self.pairs.items():
            found[marked(true, known(said))] += count
        return found


def inward(stack: Stack, own: frozenset[str]) -> Stack:
    """A stack from the outermost function of the program on; all of it where it has none."""
    return stack[next((i for i, name in enumerate(stack) if name in own), 0) :]


def known(said: Stack) -> Stack:
    """The frames of an answer, without what says that there are more."""
    return said[1:] if said[:1] == (CUT,) else said


def marked(true: Stack, said: Stack) -> Marked:
    """Both stacks as one: the frames that they have in common, and between them what only one of them has."""
    found: list[tuple[str, Mark]] = []
    for kind, i, j, k, m in SequenceMatcher(None, true, said, autojunk=False).get_opcodes():
        if kind == "equal":
            found += [(name, Mark.RIGHT) for name in true[i:j]]
            continue
        found += [(name, Mark.LOST) for name in true[i:j]]
        found += [(name, Mark.INVENTED) for name in said[k:m]]
    return tuple(found)


def sampled_profiles(process: WatchedProcess, unwinders: Sequence[Unwinder], every: int) -> list[SampledProfile]:
    """The true profile first, then one per unwinder."""
    names: dict[tuple[int, bool], str] = {}
    stacks: dict[Stack, Stack] = {}  # each once
    seen: list[list[tuple[Stack, Stack]]] = [[] for _ in range(len(unwinders) + 1)]
    for thread in process.threads:
        images, watched = thread.watched.trace.images, thread.watched
        every_one = range(thread.begins, len(watched.trace), every)
        steps = [step for step in every_one if not watched.transition[step]]  # which have no single right answer
        true = [_stack(names, images, watched.stack(step).frames, "") for step in steps]
        for found, said in zip(seen, (true, *(_said(thread, each, steps, names) for each in unwinders)), strict=True):
            found += ((stacks.setdefault(a, a), stacks.setdefault(b, b)) for a, b in zip(true, said, strict=True))
    own = _own(process.run.images, names)
    labels = (TRUTH, *(unwinder.name for unwinder in unwinders))
    return [SampledProfile(label, every, each, own) for label, each in zip(labels, seen, strict=True)]


def _own(images: tuple[LoadedImage, ...], names: Mapping[tuple[int, bool], str]) -> frozenset[str]:
    parts = {id(loaded): part for loaded, part in zip(images, parts_of(images), strict=True)}
    found = set()
    for (pc, caller), name in names.items():
        loaded = image_covering(images, pc - caller)
        if loaded is not None and parts[id(loaded)] is CodePart.OWN and not starts_program(loaded.image, name):
            found.add(name)
    return frozenset(found)


def _said(
    thread: WatchedThread, unwinder: Unwinder, steps: Iterable[int], names: dict[tuple[int, bool], str]
) -> list[Stack]:
    trace = thread.watched.trace
    every = unwinder.unwind_trace(trace) if unwinder.unwind_trace is not None else None
    found = []
    for step in steps:
        said = every[step] if every is not None else unwinder.unwind(trace.snapshot(step))
        found.append(_stack(names, trace.images, said.frames, "" if said.stopped is None else CUT))
    return found


def _stack(
    names: dict[tuple[int, bool], str],
    images: tuple[LoadedImage, ...],
    frames: Sequence[TrueFrame | Frame],
    end: str,
) -> Stack:
    """The functions of a stack, outermost first; ``end`` stands before them."""
    found = [end] if end else []
    for frame in reversed(frames):
        key = frame.pc, frame.lookup_pc != frame.pc
        if key not in names:
            names[key] = name_of(images, key[0], caller=key[1]).function or describe(images, key[0], caller=key[1])
        found.append(names[key])
    return tuple(found)
