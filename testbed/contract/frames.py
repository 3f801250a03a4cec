"""Frames and backtraces: what an unwinder says about one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from testbed.image import LoadedImage, describe
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, UnwindError


class FrameKind(Enum):
    """What a frame's pc is."""

    INTERRUPTED = "pc is the next instruction to execute"
    CALLER = "pc is a return address: the instruction after a call"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: the registers that its function will see when it resumes.

    A register that is missing is unknown. ``registers[arch.pc]`` is always there. ``cfa`` is this frame's own
    canonical frame address (the caller's SP), where the technique computes one. ``found_by`` names the rule or
    row that found this frame.
    """

    kind: FrameKind
    pc: int
    registers: Mapping[str, int]
    cfa: int | None = None
    found_by: str = ""

    @property
    def lookup_pc(self) -> int:
        """The address to look this frame up by: inside the call instruction for a CALLER.

        A call can be the last instruction of its function (the callee never returns), so a return address may
        already belong to the next function: https://github.com/libunwind/libunwind/issues/54.
        """
        return self.pc if self.kind is FrameKind.INTERRUPTED else self.pc - 1


def behind_call(frames: Sequence[Frame], index: int) -> bool:
    """True where a frame's pc is a return address, in front of which a call is.

    One whose caller was interrupted is a signal's trampoline: the handler returns to it, and nobody called it. Behind
    another function, ``pc - 1`` would be that one's.
    """
    if frames[index].kind is FrameKind.INTERRUPTED:
        return False
    return not (index + 1 < len(frames) and frames[index + 1].kind is FrameKind.INTERRUPTED)


_SHOWN = 12  # frames in a repr


@dataclass(frozen=True, slots=True)
class Backtrace:
    """What an unwinder says. ``frames[0]`` is the interrupted one, then its callers, innermost first.

    ``stopped`` None is a *claim*: the last frame is the root of the stack. Otherwise it is the reason why the
    unwinder does not know more. ``images`` are those that name the frames when it is printed.
    """

    frames: tuple[Frame, ...]
    stopped: UnwindError | None
    images: tuple[LoadedImage, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        """One line; of a deep stack how many frames it has."""
        deep = len(self.frames)
        return f"<Backtrace {self}>" if deep <= _SHOWN else f"<Backtrace of {deep:,} frames, {self._end}>"

    @property
    def _end(self) -> str:
        return "root" if self.stopped is None else f"{self.stopped.reason}: {self.stopped}"

    def __str__(self) -> str:
        names = (describe(self.images, f.pc, caller=behind_call(self.frames, i)) for i, f in enumerate(self.frames))
        return " < ".join(names) + f" ({self._end})"


def interrupted_frame(snapshot: Snapshot) -> Frame:
    """The first frame of each backtrace: what the snapshot itself shows."""
    return Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")


def followed(snapshot: Snapshot, callers: Iterable[Frame], most: int | None = None) -> Backtrace:
    """The interrupted frame, then its callers as they are found.

    What ends them, an UnwindError or that they are more than ``most``, is why the backtrace stops.
    """
    frames, stopped = [interrupted_frame(snapshot)], None
    try:
        for frame in callers:
            frames.append(frame)
            if most is not None and len(frames) > most:
                raise NoProgress(f"more than {most} frames")
    except UnwindError as stop:
        stopped, stop.pc = stop, frames[-1].pc
    return Backtrace(tuple(frames), stopped, snapshot.images)


def nothing_found(snapshot: Snapshot, stop: UnwindError) -> Backtrace:
    """The interrupted frame alone, and why there is no more: who was asked refused, crashed or hung."""
    stop.pc = snapshot.pc
    return Backtrace((interrupted_frame(snapshot),), stop, snapshot.images)
