"""Backtraces as values, to compare them; and whether one of fewer registers says less."""

from collections.abc import Collection
from dataclasses import replace

from testbed.contract.unwinder import Backtrace
from testbed.trace import Snapshot


def said(backtrace: Backtrace) -> tuple[object, ...]:
    """Everything that a backtrace says, as a value."""
    stop = backtrace.stopped
    frames = [(f.kind, f.pc, dict(f.registers), f.cfa, f.found_by) for f in backtrace.frames]
    return frames, type(stop), str(stop), stop and stop.pc


# Snapshots that lack something, and what an unwinder may say of one: less than of the whole, and nothing else.


def lacking(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    return replace(snapshot, registers={n: v for n, v in snapshot.registers.items() if n not in names})


def says_less(part: Backtrace, whole: Backtrace) -> str:
    """Empty where ``part`` claims nothing that ``whole`` does not; else what."""
    if len(part.frames) > len(whole.frames):
        return f"{len(part.frames)} frames instead of {len(whole.frames)}"
    for i, (of_part, of_whole) in enumerate(zip(part.frames, whole.frames, strict=False)):
        if (of_part.kind, of_part.pc) != (of_whole.kind, of_whole.pc):
            return f"frame {i} is at {of_part.pc:#x}, not {of_whole.pc:#x}"
        if i and not of_part.registers.items() <= of_whole.registers.items():
            return f"frame {i} has other registers"
        if of_part.cfa is not None and of_part.cfa != of_whole.cfa:
            return f"frame {i} has another CFA"
    if part.stopped is None and (whole.stopped is not None or len(part.frames) < len(whole.frames)):
        return "the root, which the whole snapshot does not lead to"
    return ""
