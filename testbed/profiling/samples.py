"""What a sampling profiler would have seen of a process: every N-th step, its true stack and what a strategy says.

A sample is the names of the functions, outermost first. It is *misplaced* where a strategy's names are not the true
ones: a flame graph then shows its time elsewhere. It is *cut* where they are the innermost true ones: time in the right
function, under the wrong callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from testbed.contract.frames import Frame
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage, describe
from testbed.naming.symbolize import name_of
from testbed.profiling.result import WatchedProcess, WatchedThread
from testbed.truth import TrueFrame

Stack = tuple[str, ...]
TRUTH = "truth"


@dataclass(frozen=True, slots=True)
class SampledProfile:
    """Samples of one strategy, or of the truth. ``stacks`` counts equal ones, outermost function first."""

    name: str
    every: int
    samples: int
    misplaced: int
    cut: int
    stacks: Mapping[Stack, int] = field(repr=False)


def sampled_profiles(process: WatchedProcess, unwinders: Sequence[Unwinder], every: int) -> list[SampledProfile]:
    """The true profile first, then one per strategy."""
    names: dict[tuple[int, bool], str] = {}
    stacks: list[Counter[Stack]] = [Counter() for _ in range(len(unwinders) + 1)]
    misplaced, cut = [0] * len(stacks), [0] * len(stacks)
    for thread in process.threads:
        images, watched = thread.watched.trace.images, thread.watched
        steps = range(thread.begins, len(watched.trace), every)
        true = [_stack(names, images, watched.stack(step).frames, "") for step in steps]
        stacks[0].update(true)
        for i, unwinder in enumerate(unwinders, 1):
            said = _said(thread, unwinder, steps, names)
            stacks[i].update(said)
            for right, claimed in zip(true, said, strict=True):
                plain = claimed[1:] if claimed[0] == CUT else claimed
                misplaced[i] += plain != right
                cut[i] += plain != right and right[len(right) - len(plain) :] == plain
    labels = (TRUTH, *(unwinder.name for unwinder in unwinders))
    return [
        SampledProfile(label, every, sum(each.values()), misplaced[i], cut[i], each)
        for i, (label, each) in enumerate(zip(labels, stacks, strict=True))
    ]


CUT = "(not known)"


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
