"""An unwinder's frames beside the true ones: what is missing is a gap, what never was is marked, repeats are folded.

::

    leaf < [middle] < main < _start (root)      a true caller is missing: its name in brackets, at its place
    leaf < ≠leaf+0x4 < main                     a frame that never was
    fib ×12 < main                              the same frame twelve times
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from testbed.contract.frames import Backtrace
from testbed.naming.beside import Alignment, beside, counted
from testbed.runs.run import Run

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
    truth = run.truth(step).frames
    named: list[tuple[Alignment, str]] = []
    for each in beside([frame.pc for frame in truth], [frame.pc for frame in said.frames]):
        frame = said.frames[each.said or 0] if each.true is None else truth[each.true]
        named.append((each.alignment, run.place(frame)))
    return tuple(named)


def told(run: Run, step: int, said: Backtrace) -> Iterator[tuple[Alignment, str]]:
    """The same as they are shown: marked by what they are, repeats folded."""
    for (place, name), times in counted(frames_beside(run, step, said)):
        text = {Alignment.MISSING: f"[{name}]", Alignment.FALSE: f"≠{name}"}.get(place, name)
        yield place, text if times == 1 else f"{text} ×{times}"
