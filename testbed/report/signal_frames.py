"""A signal's frame as the stack's drawing needs it: where it lies, and where it holds the interrupted code's registers.

::

    frame = SP at the handler's first instruction
    frame ≤ address < top                    what the kernel wrote, and room that it left
    SP - red zone ≤ address < SP             the interrupted code's red zone, left alone (SP: the interrupted one)

On an alternate stack nothing follows the frame, and the interrupted code's stack is another. Layouts: `testbed.arch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from testbed.arch import Arch
from testbed.runs.run import Run
from testbed.truth import Activation


@dataclass(frozen=True, slots=True)
class SignalFramePlace:
    """``[frame, end)`` is what belongs to the signal's activation; from ``red_zone`` on it is the interrupted code's.

    ``alternate``: the interrupted code is on another stack. ``written`` is the step at which the kernel wrote it.
    """

    frame: int
    end: int
    red_zone: int
    alternate: bool
    written: int


def signal_frame_of(run: Run, activation: Activation) -> SignalFramePlace:
    """Where the frame of a signal's activation lies."""
    layout, opened = run.arch.signal_frame, activation.opened
    frame, interrupted = int(run.trace.sp[opened]), int(run.trace.sp[opened - 1])
    top, aligned = frame + layout.size, layout.alignment
    if layout.extended is not None:
        state = run.trace.memory(opened).unsigned(frame + layout.extended.pointer, run.arch.word)
        top, aligned = state + layout.extended.size, layout.extended.alignment
    room = interrupted - layout.red_zone - top
    if 0 <= room < 2 * aligned + layout.skew:
        return SignalFramePlace(frame, interrupted, interrupted - layout.red_zone, False, opened - 1)
    return SignalFramePlace(frame, top, top, True, opened - 1)


@lru_cache
def kept_registers(arch: Arch) -> Mapping[int, str]:
    """Which register of the interrupted code each word of a signal's frame holds, by its offset."""
    layout = arch.signal_frame
    kept = {
        offset + piece: name
        for name, offset in layout.registers.items()
        for piece in range(0, max(arch.by_name[name].bits // 8, arch.word), arch.word)
    }
    if layout.record is not None and arch.link is not None:
        kept |= {layout.record: arch.isas[0].records[0].pointer, layout.record + arch.word: arch.link}
    return kept
