"""Backtraces as values, to compare them."""

from __future__ import annotations

from testbed.contract.frames import Backtrace


def said(backtrace: Backtrace) -> tuple[object, ...]:
    """Everything that a backtrace says, as a value."""
    stop = backtrace.stopped
    frames = [(f.kind, f.pc, dict(f.registers), f.cfa, f.found_by) for f in backtrace.frames]
    return frames, type(stop), str(stop), stop and stop.pc
