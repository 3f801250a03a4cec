"""docs/results/chains.md: the true call stacks of goroutines and contexts, drawn from real runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from testbed.image import describe
from testbed.truth import Truth, observe
from tests.truth.processes.cases import CASES, run_of

FAR = 1 << 16  # bytes from a frame's CFA to the next one's: they lie on two stacks
MOST = 3  # equal frames that are drawn
HEAD = """# Chains

Call stacks as the truth tells them, of programs in `tests/truth/processes/sources`. Made by `python docs/regenerate.py
--chains` on {date}. A line is a frame, innermost first: where it goes on, its CFA. A rule stands where the next
frame is on another stack.
"""

Names = Sequence[str]
Picture = tuple[str, str, Callable[[Names, Names], bool], str]
PICTURES: tuple[Picture, ...] = (
    (
        "Go, x86_64",
        "A goroutine that waits",
        lambda now, before: now[0] == "runtime.schedule" and "main.worker" in now,
        "`mcall` switched to the system stack. A switch neither calls nor ends: the goroutine is the caller.",
    ),
    (
        "Go, x86_64",
        "Before a stack is copied",
        lambda now, before: now[0] == "runtime.copystack" and "main.deep" in now,
        "`main.deep` has asked `morestack` for more room.",
    ),
    (
        "Go, x86_64",
        "Behind morestack",
        lambda now, before: now[0] == "main.deep" and before[0] == "gogo",
        "The copy goes on: all frames of the goroutine have new CFAs.",
    ),
    (
        "Go, x86_64",
        "A fault becomes a panic",
        lambda now, before: now[0] == "runtime.sigpanic0",
        "The signal's handler made the function that faulted call `sigpanic`.",
    ),
    (
        "Go, x86_64",
        "Behind recover",
        lambda now, before: now[0] == "main.broken" and before[0] == "gogo",
        "The panicking calls are gone, `main.broken` has its callers.",
    ),
    (
        "ucontext",
        "The function of a context",
        lambda now, before: now[-1] == "__start_context" and len(now) == 3,
        "`makecontext` put the last address there, where other contexts return to.",
    ),
    (
        "ucontext",
        "A context that returns",
        lambda now, before: now[0] == "__start_context" and "__start_context" not in before[0],
        "The function is over. Nobody called `__start_context`.",
    ),
)


def chains_page() -> str:
    """The page, with today's date."""
    text = HEAD.format(date=time.strftime("%Y-%m-%d", time.gmtime()))
    truths = {name: _truths(name) for name in dict.fromkeys(picture[0] for picture in PICTURES)}
    for name, title, wanted, words in PICTURES:
        truth, step = next(_found(truths[name], wanted))
        text += f"\n## {title}\n\n{words} {name}, step {step:,}.\n\n```\n" + "\n".join(drawn(truth, step)) + "\n```\n"
    return text


def _truths(name: str) -> list[Truth]:
    run = run_of(next(case for case in CASES if case.name == name))
    return [observe(track.trace) for track in run.tracks]


def _found(truths: Sequence[Truth], wanted: Callable[[Names, Names], bool]) -> Iterator[tuple[Truth, int]]:
    """The steps at which the innermost activation is another one than before, and the chain is as wanted."""
    for truth in truths:
        for step in (np.flatnonzero(np.diff(truth.node)) + 1).tolist():
            if wanted(_names(truth, step), _names(truth, step - 1)):
                yield truth, step


def _names(truth: Truth, step: int) -> Names:
    """The functions of a stack, innermost first."""
    places = (describe(truth.trace.images, frame.pc) for frame in truth.stack(step).frames)
    return [place.partition("+")[0].removesuffix(".abi0") for place in places]


def drawn(truth: Truth, step: int) -> Iterator[str]:
    """A stack in lines; of equal frames side by side only some."""
    frames = truth.stack(step).frames
    places = [describe(truth.trace.images, frame.pc) for frame in frames]
    alike = 0
    for k, (frame, place) in enumerate(zip(frames, places, strict=True)):
        alike = alike + 1 if k and place == places[k - 1] else 0
        last = k + 1 == len(frames) or places[k + 1] != place
        if alike >= MOST - 1 and not last:
            continue
        if alike >= MOST:
            yield f"  ... {alike - MOST + 1} more"
        yield f"{place:<40}" + (f"  CFA {frame.cfa:#x}" if frame.cfa is not None else "  the root")
        outer = frames[k + 1].cfa if k + 1 < len(frames) else None
        if frame.cfa is not None and outer is not None and not 0 <= outer - frame.cfa < FAR:
            yield "-" * 40
