"""An unwinder's frames beside the true ones: what is missing is a gap, what never was is marked, repeats are folded.

::

    leaf < [middle] < main < _start (root)      a true caller is missing: its name in brackets, at its place
    leaf < ≠leaf+0x4 < main                     a frame that never was
    fib ×12 < main                              the same frame twelve times
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from testbed.contract.unwinder import Backtrace, Frame
from testbed.naming.beside import Alignment, beside
from testbed.runs.run import Run
from testbed.truth import TrueFrame

_MEANS = {
    "[": "[name]: a true caller that the answer lacks.",
    "≠": "≠: a frame that never was.",
    " ×": "×: as often as that.",
}


def legend(shown: Iterable[str]) -> str:
    """What the marks mean that occur in some frames as they are shown."""
    frames = list(shown)
    return " ".join(means for mark, means in _MEANS.items() if any(mark in frame for frame in frames))


def frames_beside(run: Run, step: int, said: Backtrace) -> tuple[tuple[Alignment, str], ...]:
    """A backtrace's frames beside the truth at a step, by name."""
    return tuple((place, run.place(frame)) for place, frame in _beside(run, step, said))


def told(run: Run, step: int, said: Backtrace) -> Iterator[tuple[Alignment, str]]:
    """The same as they are shown: marked by what they are, frames at the same pc folded."""
    for _, same in groupby(_beside(run, step, said), lambda each: (each[0], each[1].pc)):
        (place, frame), *more = same
        name = run.place(frame)
        text = {Alignment.MISSING: f"[{name}]", Alignment.FALSE: f"≠{name}"}.get(place, name)
        yield place, f"{text} ×{1 + len(more)}" if more else text


def _beside(run: Run, step: int, said: Backtrace) -> Iterator[tuple[Alignment, TrueFrame | Frame]]:
    truth = run.truth(step).frames
    for each in beside([frame.pc for frame in truth], [frame.pc for frame in said.frames]):
        yield each.alignment, said.frames[each.said or 0] if each.true is None else truth[each.true]
